"""Generations whose records were compacted away before the judge read them: the brokers' logs have their times."""

from __future__ import annotations

import pytest

from judge.evidence.broker_log import assigned
from judge.evidence.facts import Fact
from judge.evidence.history import History
from judge.evidence.process import Process
from judge.evidence.truth import true_spans
from judge.verdict.episodes import episodes
from judge.verdict.facts import Coverage, unreported
from support.judge.callbacks import callback_lines
from support.judge.episodes import reported

LINE = (
    "12:26:11.530 [x] INFO GroupMetadataManager - [GroupCoordinator id=3] Assignment received from leader a-id for "
    "group g for generation 2. The group has 3 members, 0 of which are static."
)


def generation(number, client, topic="t"):
    row = {"member": f"{client}-id", "client": client, "partitions": [(topic, 0)], "topics": [topic]}
    return {"group": "g", "kind": "generation", "generation": number, "members": [row]}


@pytest.fixture
def history():
    """Generation 2 was assigned at 3 s. The record of generation 3, at 6 s, is the next one that the judge read."""
    made = History("g")
    made.add(generation(1, "a"), 500, "0:1")
    made.add(generation(3, "a"), 6_000, "0:9", after_gap=True)
    made.add_assigned(500, 1)
    made.add_assigned(3_000, 2)
    return made


@pytest.fixture
def spans(history):
    """The one member loses its partition at 2 s, and gets it back by generation 2."""
    lines = callback_lines([(600, "assigned", "t-0"), (2_000, "lost", "t-0"), (3_100, "assigned", "t-0")])
    return [span for span in true_spans([Process("a.1", "a", lines, [])], history, (), classic=True) if span.old]


def test_the_log_has_the_time_of_a_leaders_assignment():
    ((at, number),) = assigned(["another line\n" + LINE], 1_795_531_000_000)["g"]
    assert (number, at % 60_000) == (2, 11_530)


def test_a_generation_without_a_record_ends_a_stall(history, spans):
    assert history.hidden == {2: 3_000}
    assert [span.given for span in spans] == [3_000]


@pytest.mark.parametrize(("numbers", "stalls"), [((1, 2, 3), [0, 1, 0]), ((1, 3), [0, 0])])
def test_its_stalls_are_no_part_of_the_next_episode(history, spans, numbers, stalls):
    events = [reported(number, {1: 500, 2: 3_002, 3: 6_000}[number]) for number in numbers]
    without_event = unreported(Coverage(), "g", history, events)
    assert [len(each.spans) for each in episodes(events, spans, (), "g", without_event)] == stalls


def test_a_generation_that_no_observer_reported_has_no_event(history):
    found = Coverage(missed=[("g", "generation", 4, 7_000), ("g", "group_gone", -1, 8_000), ("other", "aborted", 1, 9)])
    assert unreported(found, "g", history, []) == [3_000, 7_000]
    assert Fact("hidden", 2, 6_000, "0:9") in history.facts


def test_a_topic_without_a_subscriber_counts_from_the_hidden_generation_that_shows_it_again():
    history = History("g")
    history.add(generation(1, "a"), 500, "0:1")
    history.add(generation(2, "a", "u"), 2_000, "0:2")
    history.add(generation(4, "a"), 9_000, "0:9", after_gap=True)
    history.add_assigned(6_000, 3)
    lines = callback_lines([(600, "assigned", "t-0"), (1_900, "revoked", "t-0"), (6_100, "assigned", "t-0")])
    (span,) = (
        each for each in true_spans([Process("a.1", "a", lines, [])], history, (), classic=True) if each.given == 6_000
    )
    assert (span.reason, span.stop_first) == ("new", 6_000)
