"""The observer's clock compared with the coordinators', during outages and after a pause of the observer."""

from __future__ import annotations

import pytest

from rebalance_agent.model.episode import Evidence
from rebalance_agent.tracking.evidence.known_times import Outage, TimeBounds
from rebalance_agent.tracking.evidence.poll_evidence import CLOCK_JUMP_MS, ClockOffset, Outages, PollEvidence

PERIOD_MS = 250
BACK_MS = 60_000
"""Time of the response to the first poll after an outage; the last poll before it was sent at 0."""


@pytest.mark.parametrize(("failed", "jumped"), [((), True), ((BACK_MS - CLOCK_JUMP_MS,), False), ((100,), True)])
def test_a_gap_between_complete_polls_is_a_clock_step_only_if_no_poll_failed(failed, jumped):
    polls = PollEvidence(PERIOD_MS)
    polls.add(0, 0)
    for answered_ms in failed:
        polls.fail(answered_ms)
    assert polls.clock_jumped(BACK_MS) == jumped


def test_a_failed_poll_is_removed_with_the_others():
    polls = PollEvidence(PERIOD_MS)
    polls.fail(BACK_MS - 1)
    polls.forget()
    polls.add(0, 0)
    assert polls.clock_jumped(BACK_MS)


def test_a_group_may_be_missing_from_an_answer_that_came_after_its_rebalance():
    polls = PollEvidence(PERIOD_MS)
    polls.add(1_000, 1_010)
    polls.add(1_250, 2_000)
    assert polls.unlisted_start(1_900, 0) == TimeBounds(1_000, 1_900, Evidence.LIST)
    assert polls.unlisted_start(2_000, 0) == TimeBounds(1_250, 2_000, Evidence.LIST)
    assert polls.unlisted_start(1_009, 0) is None


def test_records_that_become_readable_late_do_not_change_the_clock_offset():
    offset = ClockOffset()
    offset.learn(1_000, 1_005)
    for number in range(100):
        offset.learn(2_000 + number, 42_000, outage=True)
    assert offset.ms == 5
    offset.learn(43_000, 43_003, outage=True)
    assert offset.ms == 3


def test_an_outage_since_the_start_hides_no_clock_offset():
    offset = ClockOffset()
    offset.learn(1_000, 1_900, outage=True)
    assert offset.ms == 900
    offset.doubt()
    offset.learn(2_000, 2_700, outage=True)
    assert offset.ms == 700


def test_a_record_that_was_not_replicated_in_time_is_evidence_of_an_outage():
    outages = Outages()
    outages.take_record(10_000, 15_000)  # the coordinator waited for the replicas
    assert outages.spans(20_000, 0) == ()
    outages.take_record(20_000, 25_001)
    outages.take_record(24_000, 40_000)
    outages.take_record(60_000, 66_000)
    assert outages.spans(70_000, 1_000) == (Outage(19_000, 39_000), Outage(59_000, 65_000))
