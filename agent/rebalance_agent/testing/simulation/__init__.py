"""Simulates Kafka's classic group coordinator and its members.

`simulate` runs a script of joins, leaves, crashes and other steps, and returns a `Timeline`: generations, assignments,
partition stalls, refused members. The simulation is deterministic and has no clock, thread or broker. Tests, the demo
and ``testing.synthetic`` use the simulation; contracts in ``pyproject.toml`` keep other packages from importing it.

- ``script``: defines members and steps, the input; ``timeline``: defines the output; ``simulation``: contains
  `simulate`.
- ``action_queue``: keeps simulated time and planned actions.
- ``group_coordinator``: handles requests; ``group_phases``: runs the join and sync phases; ``member_registry``: keeps
  the coordinator's members.
- ``simulated_member``: simulates a consumer; ``heartbeat_times``: times the consumer's heartbeats and polls;
  ``member_topics``: keeps the consumer's subscription.
- ``group_messages``: defines requests and responses between member and coordinator; ``shared_state``: keeps the state
  that all members share.
- ``timeline_recorder``: records generations; ``stalled_partitions``: records stalls.

``docs/coordinator-model.md`` states what the simulation models and what it leaves out.
"""

from __future__ import annotations

from rebalance_agent.testing.simulation.script import (
    Crash,
    Delete,
    Join,
    Leave,
    RacksChange,
    SimulatedMember,
    SimulationSettings,
    Step,
    Subscribe,
    TopicGrows,
    restart,
)
from rebalance_agent.testing.simulation.simulation import Simulation, simulate
from rebalance_agent.testing.simulation.timeline import (
    Refusal,
    SimulatedGeneration,
    SimulatedHandover,
    SimulatedReplacement,
    SimulatedStall,
    StateChange,
    Timeline,
)

__all__ = [
    "Crash",
    "Delete",
    "Join",
    "Leave",
    "RacksChange",
    "Refusal",
    "SimulatedGeneration",
    "SimulatedHandover",
    "SimulatedMember",
    "SimulatedReplacement",
    "SimulatedStall",
    "Simulation",
    "SimulationSettings",
    "StateChange",
    "Step",
    "Subscribe",
    "Timeline",
    "TopicGrows",
    "restart",
    "simulate",
]
