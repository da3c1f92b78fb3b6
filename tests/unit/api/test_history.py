from dataclasses import replace

import pytest

from rebalance_agent.api import history_reports
from rebalance_agent.api.history import EpisodeHistory, HistoryLimits
from rebalance_agent.api.history_reports import MEAN_LINE_BYTES, REPORT_LINE_BYTES, REPORT_TEXT_MAX
from rebalance_agent.api.shapes import RebalanceKind
from rebalance_agent.model.episode import FailureReason, Source, Trigger
from rebalance_agent.model.event_json import event_from_json, json_line
from rebalance_agent.model.events import AbortedEvent, Callback, GroupGoneEvent, MemberEvent, MemberSnapshot
from rebalance_agent.model.group import GroupType
from support.observer.fakes import generation_event


def generation(number, group="g", **fields):
    """A rebalance of one generation, unless ``fields`` say otherwise."""
    usual = {
        "event_id": f"id-{group}-{number}",
        "group": group,
        "generation": number,
        "previous_generation": number - 1,
        "episode_generation": number,
        "timestamp_ms": 1_000 * number,
    }
    return generation_event(**{**usual, **fields})


def aborted(number, group="g"):
    return AbortedEvent(
        f"aborted-{number}",
        "c",
        group,
        1_000 * number,
        Source.RECORDS,
        GroupType.CLASSIC,
        number,
        FailureReason.ABORTED,
    )


def gone(group="g"):
    return GroupGoneEvent("gone", "c", group, 9_000, Source.RECORDS, GroupType.CLASSIC)


def report(callback, number, at_ms, member="m", **fields):
    return MemberEvent(
        event_id=f"{callback}-{number}-{at_ms}",
        group="g",
        timestamp_ms=at_ms,
        callback=callback,
        client_id="client",
        member_id=member,
        generation=number,
        started_ms=at_ms - 10,
        partitions={},
        process="p",
        sequence=at_ms,
        **fields,
    )


def numbers(history, group="g"):
    known = history.rebalances(group)
    return None if known is None else [each.generation for each in known.rebalances]


def history_of(*events, **limits):
    history = EpisodeHistory(HistoryLimits(**limits))
    for event in events:
        history.on_event(event)
    return history


def test_rebalances_are_listed_newest_first_including_aborted_ones():
    history = history_of(generation(1), aborted(2), generation(3))
    assert numbers(history) == [3, 2, 1]
    assert [each.kind for each in history.rebalances("g").rebalances] == [
        RebalanceKind.COMPLETED,
        RebalanceKind.ABORTED,
        RebalanceKind.COMPLETED,
    ]
    assert numbers(history, "other") is None


def test_followups_are_merged_into_their_rebalance():
    first = generation(4, closes_episode=False, moved=0)
    closing = generation(5, episode_generation=4, followups=1, moved=2)
    (only,) = history_of(first, closing).rebalances("g").rebalances
    assert (only.generation, only.previous_generation, only.moved) == (5, 3, 2)
    assert [step.generation for step in only.generations] == [4, 5]


def test_whole_events_are_found_by_any_of_their_ids():
    first, closing = generation(4, closes_episode=False), generation(5, episode_generation=4)
    history = history_of(first, closing)
    assert history.rebalance("g", "id-g-5").events == (first, closing)
    assert history.rebalance("g", "id-g-4") == history.rebalance("g", "id-g-5")
    assert history.rebalance("g", "id-g-6") is history.rebalance("h", "id-g-5") is None


def test_a_higher_revision_replaces_a_lower_one():
    first, closing = generation(4, closes_episode=False), generation(5, episode_generation=4)
    history = history_of(first, closing, generation(6))
    better = replace(closing, revision=1, causes=(Trigger.MEMBER_FAILED,), trigger=Trigger.MEMBER_FAILED)
    history.on_event(better)
    assert numbers(history) == [6, 5]
    assert history.rebalances("g").rebalances[1].trigger is Trigger.MEMBER_FAILED
    assert history.rebalance("g", "id-g-5").events == (first, better)


def test_of_two_events_with_equal_revisions_the_first_is_kept():
    closing = generation(5)
    reported_again = replace(closing, causes=(Trigger.MEMBER_FAILED,), trigger=Trigger.MEMBER_FAILED)
    assert history_of(closing, reported_again).rebalance("g", "id-g-5").events == (closing,)


def test_an_aborted_generation_reported_twice_is_listed_once():
    assert numbers(history_of(aborted(2), aborted(2))) == [2]


def test_the_oldest_rebalances_of_a_group_are_dropped_first():
    assert numbers(history_of(*map(generation, range(1, 8)), rebalances=3)) == [7, 6, 5]


def test_the_history_of_a_deleted_group_is_dropped():
    history = history_of(generation(1), report(Callback.ASSIGNED, 1, 1_000), gone())
    assert numbers(history) is None
    assert history.size_bytes == 0


def test_with_too_many_groups_the_least_recently_changed_is_dropped():
    history = history_of(generation(1, "a"), generation(1, "b"), generation(2, "a"), generation(1, "c"), groups=2)
    assert [numbers(history, group) for group in "abc"] == [[2, 1], None, [1]]


def test_reports_of_invented_groups_drop_no_group_that_has_rebalances():
    history = history_of(generation(1, "real"), groups=3)
    for number in range(10):
        history.on_event(replace(report(Callback.ASSIGNED, 1, 1_000 + number), group=f"invented-{number}"))
    assert numbers(history, "real") == [1]
    assert numbers(history, "invented-9") == [], "the last reports are kept"
    history.on_event(generation(1, "invented-9"))
    history.on_event(generation(1, "b"))
    history.on_event(generation(1, "c"))
    assert numbers(history, "real") is None, "a group with rebalances counts like any other"


@pytest.mark.no_cover  # exceeds the line counts of other tests many times
@pytest.mark.parametrize("rebalances", [1, 30])
def test_bytes_are_bounded_for_any_input(rebalances):
    members = tuple(
        MemberSnapshot(f"{index:032x}", None, "client", "/h", ("t",), {}, {"t": (index,)}) for index in range(500)
    )
    history = EpisodeHistory(HistoryLimits(size_bytes=60_000))
    for number in range(rebalances):
        for group in "abc":
            history.on_event(generation(number, group, members=members))
            assert history.size_bytes <= 60_000
    assert numbers(history, "c")[0] == rebalances - 1


def test_a_rebalance_that_never_closes_is_bounded():
    history = history_of(*(generation(number, closes_episode=False, episode_generation=1) for number in range(1, 100)))
    assert numbers(history) == [96, 64, 32]


def test_a_duplicate_report_is_shown_once():
    again = report(Callback.REVOKED, 3, 4_900, reprocessed_records=7)
    history = history_of(again, again, generation(4, timestamp_ms=5_000))
    assert history.rebalance("g", "id-g-4").reports == (again,)


def test_the_decoded_size_of_reports_is_bounded():
    topics = {f"{number:x}": () for number in range(1_200)}
    reports = [replace(report(Callback.ASSIGNED, 4, 5_000 + number), partitions=topics) for number in range(300)]
    history = history_of(*reports, generation(4, timestamp_ms=5_000))
    kept = history.rebalance("g", "id-g-4").reports
    assert all(len(json_line(each)) <= REPORT_LINE_BYTES for each in reports)
    most = MEAN_LINE_BYTES * HistoryLimits().reports
    assert most / 2 < sum(len(json_line(each)) for each in kept) <= most
    assert kept[-1].event_id == reports[-1].event_id, "the last ones are kept"


def test_a_very_long_report_is_kept_without_its_partitions_and_the_ends_of_its_texts():
    topics = {f"{number:x}": () for number in range(26_000)}
    long = replace(report(Callback.ASSIGNED, 4, 5_000), partitions=topics, error="e" * 5_000)
    history = history_of(long, generation(4, timestamp_ms=5_000))
    assert history.rebalance("g", "id-g-4").reports == (replace(long, partitions={}, error="e" * REPORT_TEXT_MAX),)
    hostile = history_of(replace(long, process="p" * 100_000), generation(4, timestamp_ms=5_000))
    assert hostile.rebalance("g", "id-g-4").reports == ()


def test_only_reports_about_the_requested_rebalance_are_decoded_and_each_is_decoded_once(monkeypatch):
    decoded = []
    monkeypatch.setattr(history_reports, "event_from_json", lambda data: decoded.append(data) or event_from_json(data))
    reports = [report(Callback.ASSIGNED, number, 5_000 + number) for number in (4, 5)]
    history = history_of(*reports, generation(4, timestamp_ms=5_000), generation(5, timestamp_ms=5_100))
    for number in (4, 4, 5, 4, 5):
        assert history.rebalance("g", f"id-g-{number}").reports == (reports[number - 4],)
    assert len(decoded) == 2


def test_reports_belong_to_the_rebalance_in_which_a_member_stopped_or_resumed():
    reports = [
        report(Callback.ASSIGNED, 3, 3_100),
        report(Callback.REVOKED, 3, 4_900),
        report(Callback.ASSIGNED, 4, 5_100),
        report(Callback.REVOKED, -1, 4_950),
        report(Callback.REVOKED, 4, 5_900),
    ]
    history = history_of(*reports, generation(4, timestamp_ms=5_000))
    said = history.rebalance("g", "id-g-4").reports
    assert [(each.callback, each.timestamp_ms) for each in said] == [
        (Callback.REVOKED, 4_900),
        (Callback.REVOKED, 4_950),
        (Callback.ASSIGNED, 5_100),
    ]


def test_completed_rebalances_are_counted_since_a_given_time():
    history = EpisodeHistory()
    for event in (generation(1), generation(2), aborted(3), generation(4), generation(1, "old")):
        history.on_event(event)
    assert history.recent(2_000) == {"g": 2}
    assert history.recent(1_000) == {"g": 3, "old": 1}
