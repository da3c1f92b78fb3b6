import pytest

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.kept_reports import MEMBERS_MAX
from rebalance_agent.tracking.evidence.known_times import Departure, TimeBounds
from rebalance_agent.tracking.evidence.member_reports import CLOCK_SKEW_MAX_MS, MemberReports, ReportSpan
from support.tracker.tracking import T0, assigned, left, member, record, revoked


def exactly(at):
    """The time that a member's own client reported."""
    return TimeBounds(T0 + at, T0 + at, Evidence.MEMBERS)


def generation(at, number, *members):
    seen = record(at, number, *members)
    return Generation(seen.value, seen.timestamp_ms, seen.seen_ms, RebalanceProtocol.EAGER)


def log_of(*reports):
    log = MemberReports()
    for report in reports:
        assert log.add(report.event, report.at_ms)
    return log


OLD, NEW = generation(10_000, 4, member("a", (0, 1))), generation(30_000, 5, member("a", (0, 1)))
SPAN = ReportSpan.between(OLD, NEW)
A = OLD.members[0]


def test_a_duplicate_report_is_recognised():
    log = MemberReports()
    report = revoked("a", 20_000, 20_010, 4, (0, 1))
    assert [log.add(report.event, report.at_ms) for _ in range(2)] == [True, False]


def test_a_report_from_the_future_is_rejected():
    log, report = MemberReports(), revoked("a", 20_000, 20_010, 4, (0, 1))
    assert not log.add(report.event, T0 + 20_009 - CLOCK_SKEW_MAX_MS)
    assert log.add(report.event, T0 + 20_010 - CLOCK_SKEW_MAX_MS)


def test_a_callback_that_returned_before_it_was_entered_is_rejected():
    assert not MemberReports().add(revoked("a", 20_010, 20_000, 4, (0, 1)).event, T0 + 30_000)


def test_stops_in_the_new_generation_belong_to_the_next_rebalance():
    assert log_of(revoked("a", 30_500, 30_510, 5, (0, 1))).stops(A, SPAN) == {}
    assert log_of(revoked("a", 29_500, 29_510, 4, (0,))).stops(A, SPAN) == {("t", 0): exactly(29_500)}


def test_stops_in_an_older_generation_belong_to_the_previous_rebalance():
    assert log_of(revoked("a", 9_900, 9_910, 3, (0, 1))).stops(A, SPAN) == {}


def test_a_report_of_the_right_generation_at_an_impossible_time_is_ignored():
    assert log_of(revoked("a", 3_000, 3_010, 4, (0, 1))).stops(A, SPAN) == {}
    assert log_of(revoked("a", 6_000, 6_010, 4, (0, 1))).stops(A, SPAN) != {}, "clocks differ by a few seconds"


def test_reports_of_a_client_without_generations_are_matched_by_time():
    assert log_of(revoked("a", 20_000, 20_010, -1, (0, 1))).stops(A, SPAN) != {}
    assert log_of(revoked("a", 9_000, 9_010, -1, (0, 1))).stops(A, SPAN) == {}
    assert (
        log_of(assigned("a", 30_001, 30_005, -1, (0, 1))).resumes("a", NEW.number, NEW.timestamp_ms, A.assigned) != {}
    )
    assert (
        log_of(assigned("a", 10_001, 10_005, -1, (0, 1))).resumes("a", NEW.number, NEW.timestamp_ms, A.assigned) == {}
    )


def test_without_generations_a_later_assignment_is_matched_by_the_revocation_before_it():
    later = (revoked("a", 50_000, 50_010, -1, (0, 1)), assigned("a", 53_000, 53_005, -1, (0, 1)))
    assert log_of(*later).resumes("a", NEW.number, NEW.timestamp_ms, A.assigned) == {}
    assert log_of(*later[1:]).resumes("a", NEW.number, NEW.timestamp_ms, A.assigned) == dict.fromkeys(
        (("t", 0), ("t", 1)), exactly(53_005)
    )


def test_a_leave_stops_all_partitions_of_its_member():
    assert log_of(left("a", 20_000, 4)).stops(A, SPAN) == dict.fromkeys((("t", 0), ("t", 1)), exactly(20_000))


def stops_after(*reports):
    """The stop of partition 0 and its interruptions, in any order of arrival."""
    logs = [log_of(*each) for each in (reports, reports[::-1])]
    found = [
        (log.stops(A, SPAN).get(("t", 0)), log.stops_and_interruptions(A, SPAN)[1].get(("t", 0), [])) for log in logs
    ]
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("number", [4, -1])
def test_a_member_that_got_the_same_generation_again_stopped_later(number):
    """The coordinator answers a needless JoinGroup with the generation that runs, and writes no record."""
    first, again = revoked("a", 12_000, 12_010, number, (0,)), assigned("a", 12_500, 12_510, number, (0,))
    last = revoked("a", 29_000, 29_010, number, (0,))
    interruption = [(exactly(12_000), exactly(12_510))]
    assert stops_after(first, again, last) == (exactly(29_000), interruption)
    assert stops_after(first, again) == (None, interruption)
    assert stops_after(assigned("a", 11_000, 11_010, number, (0,)), last) == (exactly(29_000), [])


def test_the_assignment_of_the_next_generation_is_no_second_one():
    first = revoked("a", 29_000, 29_010, -1, (0,))
    assert stops_after(first, assigned("a", 29_990, 30_010, -1, (0,))) == (exactly(29_000), [])
    assert stops_after(first, assigned("a", 29_990, 30_010, 5, (0,))) == (exactly(29_000), [])


def test_what_a_member_got_again_it_did_not_give_up():
    first, again = revoked("a", 12_000, 12_010, 4, (0, 1)), assigned("a", 12_500, 12_510, 4, (0, 1))
    assert log_of(first).departure(A, SPAN) is Departure.LEFT
    assert log_of(first, again).departure(A, SPAN, {"a": Departure.SILENT}) is Departure.FAILED


def test_revoking_some_partitions_is_no_leave():
    assert log_of(revoked("a", 20_000, 20_010, 4, (0,))).departure(A, SPAN, {"a": Departure.SILENT}) is Departure.FAILED
    assert log_of(revoked("a", 20_000, 20_010, 4, (0, 1))).departure(A, SPAN) is Departure.LEFT
    assert log_of().departure(A, SPAN) is Departure.UNKNOWN


def test_members_are_bounded_and_the_latest_are_kept():
    log = log_of(*(revoked(f"m{number}", 1_000, 1_010, 4, (0,)) for number in range(MEMBERS_MAX + 10)))
    assert not log.knows("m0")
    assert log.knows(f"m{MEMBERS_MAX + 9}")


def test_reports_of_one_member_are_bounded():
    log = log_of(*(revoked("a", 11_000 + number, 20_000, 4, (0,), seq=number) for number in range(100)))
    assert len(log.revocations("a", SPAN)) == 32


def test_reports_of_departed_members_are_removed_after_a_time():
    log = log_of(revoked("a", 20_000, 20_010, 4, (0,)), revoked("b", 20_000, 20_010, 4, (0,)))
    log.keep(["a"], T0 + 20_011)
    assert (log.knows("a"), log.knows("b")) == (True, False)
