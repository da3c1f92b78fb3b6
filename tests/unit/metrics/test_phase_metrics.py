from __future__ import annotations

from rebalance_agent.metrics.export.phase_metrics import PhaseMetrics
from rebalance_agent.model.episode import Evidence, Phases
from rebalance_agent.model.group import GroupType
from support.observer.fakes import generation_event
from support.observer.scrapes import families

PHASES = ("join_seconds", "sync_seconds", "assignor_wait_seconds", "reconcile_seconds")
NOTHING = dict.fromkeys(PHASES, (0, 0))
JOINED = Phases(3_250, Evidence.RECORD, 1_000, Evidence.LIST, 3_000, Evidence.RECORD)


def _sums(metrics):
    shown = families(metrics.text())
    return {
        name.removeprefix("kafka_rebalance_"): (
            next(each.value for each in family.samples if each.name == f"{name}_count"),
            next(each.value for each in family.samples if each.name == f"{name}_sum"),
        )
        for name, family in shown.items()
    }


def test_phases_of_every_generation_are_counted_from_zero():
    metrics = PhaseMetrics()
    assert _sums(metrics) == NOTHING
    metrics.on_event(generation_event(phases=JOINED, closes_episode=False))
    metrics.on_event(generation_event(phases=JOINED, group="another"))
    assert _sums(metrics) == {**NOTHING, "join_seconds": (2, 4.0), "sync_seconds": (2, 0.5)}


def test_members_of_a_group_whose_coordinator_assigns_reconcile():
    metrics = PhaseMetrics()
    metrics.on_event(generation_event(phases=JOINED, group_type=GroupType.CONSUMER, assignor_wait_seconds=1.5))
    assert _sums(metrics) == {**NOTHING, "assignor_wait_seconds": (1, 1.5), "reconcile_seconds": (1, 0.25)}


def test_unknown_phases_and_revised_events_are_not_counted():
    metrics = PhaseMetrics()
    metrics.on_event(generation_event(phases=Phases(3_250, Evidence.RECORD)))
    metrics.on_event(generation_event(phases=JOINED, revision=1))
    assert _sums(metrics) == NOTHING
