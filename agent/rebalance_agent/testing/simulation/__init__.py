"""A model of Kafka's classic group coordinator and of the members around it, in simulated time.

`simulate` runs a script (who joins, leaves, crashes, subscribes) and gives a `Timeline`: generations, assignments,
partition stalls, refusals. Pure and deterministic: no clock, no thread, no broker. How it fits together:

- ``script``: members and steps, checked; ``timeline``: what comes out.
- ``agenda``: simulated time; ``simulation`` brings everything together.
- ``group``: what the coordinator does with requests; ``rounds``: join and sync phases; ``registered``: its members.
- ``member``: a consumer's behaviour, with its ``rhythm`` of heartbeats and polls and its ``offering``, in a
  ``world`` that it shares with the others. Coordinator and members talk in ``messages``.
- ``negotiation``: which strategy a group uses, and why a member is refused, in words. Clients use it as well.
- ``chronicle`` and ``ledger`` write down what happens to the group and to its partitions.

What it models and what it leaves out: ``docs/coordinator-model.md``.
"""

from __future__ import annotations

from rebalance_agent.clients.negotiation import explain_inconsistent_protocols, select_strategy
from rebalance_agent.testing.simulation.script import (
    Crash,
    Delete,
    Join,
    Leave,
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
    "explain_inconsistent_protocols",
    "restart",
    "select_strategy",
    "simulate",
]
