"""Events and summaries of a run of the demo, for tests of pictures and sentences."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.api.shapes import HostSpreadSummary
from rebalance_agent.api.view_shapes import build_summary
from rebalance_agent.demo.observed.differences import CoordinatorView, SeenStep
from rebalance_agent.demo.observed.gauges import GroupGauges
from rebalance_agent.demo.observed.summary import summarise
from rebalance_agent.demo.scenario_types import ClientLibrary, DemoGroup, DemoMember, DemoStep, Expected, SlowDown
from rebalance_agent.model.episode import Basis, Evidence, Phases, Source, Stall, Trigger
from rebalance_agent.model.events import GenerationEvent, MemberSnapshot
from rebalance_agent.model.group import GroupState, GroupType, RebalanceProtocol
from support.observer.views import full_view

GROUP = DemoGroup("g", "any", ClientLibrary.KAFKA_PYTHON, "range", "t", (DemoMember("one"), DemoMember("two")))
COORDINATOR = CoordinatorView(
    generation=7,
    protocol="range",
    clients={"m-1": "one", "m-2": "two"},
    state="Stable",
    described_protocol="range",
    assignment={"m-1": {"t": (0, 1)}, "m-2": {"t": (2,)}},
)
GAUGES = GroupGauges(generation=7, members=2, owned={"one": 2, "two": 1})
SLOW = DemoStep("slow consumer", "", (SlowDown("g", "two", 6.0),), (Expected("g", Trigger.MEMBER_JOINED, 2),))


def generation_event(generation=7, **fields):
    """An event of the group ``g`` that closes an episode; ``fields`` replace its values."""
    values = {
        "event_id": f"id-{generation}",
        "cluster_id": "c",
        "group": "g",
        "timestamp_ms": 1_000 * generation,
        "source": Source.RECORDS,
        "group_type": GroupType.CLASSIC,
        "generation": generation,
        "previous_generation": generation - 1,
        "episode_generation": generation,
        "closes_episode": True,
        "followups": 0,
        "assignor": "range",
        "protocol": RebalanceProtocol.EAGER,
        "phases": Phases(1_000 * generation, Evidence.RECORD),
        "trigger": Trigger.MEMBER_JOINED,
        "causes": (Trigger.MEMBER_JOINED,),
        "stall": Stall(6.25, 6.25, 18.0, Basis.EXACT),
        "members": (snapshot("m-1", "one", 0, 1), snapshot("m-2", "two", 2)),
        "topics": {"t": 3},
        "moved": 1,
        "needed": 1,
        "revoked": 3,
        "assigned": 3,
        "lost": 0,
        "lost_min": 0,
        "unassigned": 0,
        "noop": False,
        "slowest_member_id": "m-2",
    }
    return GenerationEvent(**{**values, **fields})


def group_summary(name="g", **fields):
    """The API's summary of a stable group."""
    calm = {"state": GroupState.STABLE, "generation": 7, "members": 2, "running": None}
    return replace(build_summary(full_view(name)), **{**calm, **fields})


def snapshot(member_id, client_id, *partitions):
    """A member with assigned ``partitions`` of the topic ``t``."""
    return MemberSnapshot(member_id, None, client_id, "/127.0.0.1", ("t",), {}, {"t": partitions})


SPREAD = HostSpreadSummary(topics=81, on_one_host=80, hosts=2, ratio=0.5, clustered_ratio=80 / 81)
EVENT = generation_event()
"""Its members and partitions are those of `COORDINATOR`."""

SEEN = SeenStep(SLOW, (EVENT,))


def summary(event=EVENT, coordinator=COORDINATOR, step=SEEN):
    """The summary of one group and one step; ``coordinator`` None: not checked."""
    by_group = None if coordinator is None else {"g": coordinator}
    return summarise((GROUP,), {"g": [event]}, {"g": GAUGES}, (step,), by_group)
