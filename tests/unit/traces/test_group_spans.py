from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Basis, Evidence, FailureReason, Phases, Source, Stall
from rebalance_agent.model.events import AbortedEvent, MemberSnapshot
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.traces.group_spans import (
    MEMBER_SPANS_MAX,
    RETURN,
    aborted_spans,
    generation_spans,
)
from rebalance_agent.traces.span import ROOT, Link, span_id, trace_id
from support.observer.fakes import generation_event

PHASES = Phases(5_000, Evidence.RECORD, 1_000, Evidence.LIST, 4_000, Evidence.RECORD)
TRACE = trace_id("c", "orders", 3)
ROOT_ID = span_id(TRACE, ROOT)


def generation(**fields):
    usual = {"cluster_id": "c", "group": "orders", "generation": 3, "episode_generation": 3, "phases": PHASES}
    return generation_event(**{**usual, **fields})


def member(number, **fields):
    return MemberSnapshot(f"m{number}", None, f"c{number}", "/10.0.0.1", ("t",), {}, {}, **fields)


def times(spans):
    return {span.name: (span.start_ms, span.end_ms, span.parent_id) for span in spans}


def test_a_classic_generation_is_a_root_with_its_join_and_sync_phase():
    spans = generation_spans(generation())
    assert {span.trace_id for span in spans} == {TRACE}
    assert spans[0].span_id == ROOT_ID
    assert times(spans) == {
        "rebalance": (1_000, 5_000, None),
        "join": (1_000, 4_000, ROOT_ID),
        "sync": (4_000, 5_000, ROOT_ID),
    }


@pytest.mark.parametrize("group_type", [GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS])
def test_a_group_whose_coordinator_assigns_has_other_phases(group_type):
    spans = times(generation_spans(generation(group_type=group_type, epoch_kind="group_epoch")))
    assert spans["target assignment"] == (1_000, 4_000, ROOT_ID)
    assert spans["reconcile"] == (4_000, 5_000, ROOT_ID)


def test_without_a_start_the_root_begins_with_the_first_known_time():
    spans = times(generation_spans(generation(phases=replace(PHASES, started_ms=None))))
    assert spans == {"rebalance": (4_000, 5_000, None), "sync": (4_000, 5_000, ROOT_ID)}
    assert times(generation_spans(generation(phases=Phases(5_000, Evidence.RECORD)))) == {
        "rebalance": (5_000, 5_000, None)
    }


def test_a_start_after_the_end_of_the_phase_gives_no_phase_of_negative_length():
    spans = generation_spans(generation(phases=replace(PHASES, started_ms=4_500)))
    assert times(spans) == {"rebalance": (4_000, 5_000, None), "sync": (4_000, 5_000, ROOT_ID)}


def test_the_root_has_the_facts_of_the_rebalance_and_no_unknown_ones():
    stall = Stall(None, 1.5, 6.0, Basis.BOUND)
    (root, *_) = generation_spans(generation(stall=stall, moved=None, needed=2))
    assert root.attributes["messaging.consumer.group.name"] == "orders"
    assert root.attributes["kafka.cluster.id"] == "c"
    assert root.attributes["kafka.rebalance.generation"] == 3
    assert root.attributes["kafka.rebalance.partitions.needed"] == 2
    assert root.attributes["kafka.rebalance.stall.lower_seconds"] == 1.5
    assert "kafka.rebalance.stall.upper_seconds" not in root.attributes
    assert "kafka.rebalance.partitions.moved" not in root.attributes
    assert root.error is None


def test_members_that_reported_their_stop_have_a_span_for_it():
    spans = generation_spans(
        generation(
            members=(member(1, stop_seconds=2.5, where=Workload("pod-1")), member(2), member(3, stop_seconds=0.5))
        )
    )
    stops = [span for span in spans if span.name == "stop"]
    assert [(span.start_ms, span.end_ms) for span in stops] == [(1_000, 3_500), (1_000, 1_500)]
    assert stops[0].attributes["k8s.pod.name"] == "pod-1"
    assert stops[0].attributes["messaging.client.id"] == "c1"


def test_only_the_slowest_members_have_a_span():
    many = tuple(member(number, stop_seconds=number / 1000) for number in range(MEMBER_SPANS_MAX + 5))
    stops = [span.end_ms - span.start_ms for span in generation_spans(generation(members=many)) if span.name == "stop"]
    assert stops == list(range(MEMBER_SPANS_MAX + 4, 4, -1))


def test_a_follow_up_links_to_the_first_generation_of_its_episode():
    (root, *_) = generation_spans(generation(generation=4, episode_generation=3))
    assert root.trace_id == trace_id("c", "orders", 4)
    assert root.links == (Link(TRACE, ROOT_ID),)
    assert generation_spans(generation())[0].links == ()


def test_a_rebalance_that_removed_a_member_failed():
    (root, *_) = generation_spans(generation(members=(member(1),), slowest_member_id="m2"))
    assert root.error == "member m2 was removed because it did not rejoin or revoke in time"
    (root, *_) = generation_spans(generation(members=(member(1),), slowest_member_id="m1"))
    assert root.error is None


def test_a_revision_gives_no_spans_again():
    assert generation_spans(generation(revision=1)) == ()
    assert generation_spans(generation(part=1, parts=2)) == ()


def test_static_members_that_return_within_a_generation_are_child_spans_of_its_root():
    first, second = (generation(previous_generation=3, event_id=event) for event in ("1" * 32, "2" * 32))
    (one,), (other,) = generation_spans(first), generation_spans(second)
    assert (one.name, one.trace_id, one.parent_id) == (RETURN, TRACE, ROOT_ID)
    assert len({one.span_id, other.span_id, ROOT_ID}) == 3


def test_an_aborted_generation_is_a_failed_root():
    event = AbortedEvent("a" * 32, "c", "orders", 900, Source.RECORDS, GroupType.CLASSIC, 3, FailureReason.ABORTED)
    (root,) = aborted_spans(event)
    assert (root.trace_id, root.span_id, root.parent_id, root.error) == (TRACE, ROOT_ID, None, "aborted")
    assert (root.start_ms, root.end_ms) == (900, 900)
    assert aborted_spans(replace(event, revision=1)) == ()


def test_a_group_that_is_created_again_repeats_its_trace_ids_at_another_time():
    """Generation 3 of a group of the same name: the ids are equal, and the start distinguishes the two."""
    later = replace(PHASES, started_ms=901_000, joined_ms=904_000, completed_ms=905_000)
    (first, *_), (second, *_) = generation_spans(generation()), generation_spans(generation(phases=later))
    assert (first.trace_id, first.span_id) == (second.trace_id, second.span_id)
    assert first.end_ms < second.start_ms
