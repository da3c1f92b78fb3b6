"""A group whose description ends librdkafka's process costs other groups nothing, and is not asked for again soon."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from rebalance_agent.clock import FakeClock
from rebalance_agent.cluster.describing.isolated_describer import (
    ASKED_AGAIN_S,
    DESCRIBE_S,
    GROUPS_MAX,
    STARTS_MAX,
    IsolatedDescriber,
)
from rebalance_agent.errors import ClusterError
from rebalance_agent.model.group import GroupState

PROCESS = """
import json, os, sys
folder = json.loads(sys.stdin.readline())["folder"]
open(f"{folder}/{os.getpid()}", "w").close()
print("{}", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    for group in request["groups"]:
        if "offsets" in request:
            if group.startswith("moving") and len(os.listdir(folder)) <= int(group[-1]):
                os.abort()
            print(json.dumps({"group": group, "offsets": [["t", 0, 7]]}), flush=True)
            continue
        if group.startswith("fatal"):
            os.abort()
        if group == "last":
            sys.exit()
        if group == "slow":
            sys.stdin.read()
        print(json.dumps({"group": group, "state": "Stable", "description": None, "operations": None}), flush=True)
    print("{}", flush=True)
    if group == "late" and len(os.listdir(folder)) == 1:
        os.abort()
"""
SECRET = "the-password"

COUNTING = """
import json, sys
folder = json.loads(sys.stdin.readline())["folder"]
print("{}", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    groups = request["groups"]
    with open(f"{folder}/requests", "a") as requests:
        print(len(groups), file=requests)
    described = {"state": "Stable", "description": None, "operations": None}
    for group in groups:
        print(json.dumps({"group": group, **({"offsets": []} if "offsets" in request else described)}), flush=True)
    print("{}", flush=True)
"""
"""Describes every group, and writes the number of groups in each request."""


@pytest.fixture
def describer(tmp_path):
    """A describer whose process aborts for groups named fatal; ``clock``: its clock; ``starts()``: its processes."""
    made = IsolatedDescriber({"folder": str(tmp_path), "secret": SECRET}, 0.5, FakeClock(), ("-c", PROCESS))
    made.clock = made._clock
    made.starts = lambda: len(pids(tmp_path))
    made.pids = lambda: pids(tmp_path)
    yield made
    made._end()


def pids(folder):
    """The processes that were started."""
    return [int(path.name) for path in folder.iterdir()]


def described(answers):
    """The groups with an answer; each other one timed out, as one whose coordinator does not answer."""
    for answer in answers.values():
        if error := answer.exception():
            assert isinstance(error, KafkaException)
            assert error.args[0].code() == KafkaError._TIMED_OUT
    return {name for name, answer in answers.items() if not answer.exception()}


def test_groups_are_described_by_one_process(describer):
    assert describer(["a", "b"])["a"].result().state is GroupState.STABLE
    assert described(describer(["b", "c"])) == {"b", "c"}
    assert describer([]) == {}
    assert describer.starts() == 1


def test_other_groups_are_described_beside_one_that_ends_the_process(describer, caplog):
    assert described(describer(["a", "fatal", "z"])) == {"a", "z"}
    assert "'fatal' is not described for 600 s" in caplog.text
    starts = describer.starts()
    assert described(describer(["a", "fatal", "z"])) == {"a", "z"}
    assert describer.starts() == starts
    describer.clock.advance(int(ASKED_AGAIN_S) * 1000)
    assert described(describer(["fatal"])) == set()
    assert describer.starts() > starts


def test_each_call_starts_few_processes_and_many_such_groups_are_found_by_later_calls(describer):
    names = [*(f"fatal-{number}" for number in range(5)), "z"]
    assert described(describer(names)) == set()
    assert describer.starts() == STARTS_MAX
    assert described(describer(names)) == set()
    assert described(describer(names)) == {"z"}
    assert described(describer(names)) == {"z"}


def test_committed_offsets_are_read_in_the_process_too(describer):
    answers = describer.committed(["a", "fatal"])
    assert {name: answer.result() for name, answer in answers.items()} == {"a": {("t", 0): 7}, "fatal": {("t", 0): 7}}
    assert described(describer(["a"])) == {"a"}
    assert describer.starts() == 1


def test_a_group_whose_coordinator_moves_is_asked_for_again_and_never_excluded(describer, caplog):
    """librdkafka ends the process of an admin client that asks a former coordinator for committed offsets."""
    assert described(describer.committed(["a", "moving 1"])) == {"a", "moving 1"}
    assert described(describer.committed(["a", "moving 9"])) == {"a"}
    assert described(describer(["a", "moving 9"])) == {"a", "moving 9"}
    assert "is not described" not in caplog.text


def test_a_process_that_ended_after_its_answers_excludes_no_group(describer):
    assert described(describer(["late"])) == {"late"}
    assert described(describer(["a"])) == {"a"}
    assert described(describer(["late"])) == {"late"}


def test_a_process_that_ends_when_idle_is_started_again(describer):
    assert described(describer(["a"])) == {"a"}
    [process] = describer.pids()
    describer._running._process.kill()
    describer._running._process.wait()
    assert described(describer(["a"])) == {"a"}
    assert len(describer.pids()) == 2
    assert process in describer.pids()


def test_a_process_that_does_not_answer_is_ended(tmp_path):
    describer = IsolatedDescriber({"folder": str(tmp_path)}, -1.5, process=("-c", PROCESS))
    assert described(describer(["slow"])) == set()
    [process] = pids(tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_no_more_groups_are_asked_for_after_the_deadline(describer, monkeypatch):
    exchange = IsolatedDescriber._exchange

    def slow(self, groups, operations):
        self._clock.advance(int(DESCRIBE_S) * 1000)
        return exchange(self, groups, operations)

    monkeypatch.setattr(IsolatedDescriber, "_exchange", slow)
    assert described(describer(["fatal", "z"])) == set()
    assert describer.starts() == 1


def test_secrets_are_not_in_the_process_list(describer):
    describer(["a"])
    [process] = describer.pids()
    assert SECRET.encode() not in Path(f"/proc/{process}/cmdline").read_bytes()
    assert SECRET.encode() not in Path(f"/proc/{process}/environ").read_bytes()


def test_the_process_ends_with_its_describer(tmp_path):
    describer = IsolatedDescriber({"folder": str(tmp_path)}, 0.5, process=("-c", PROCESS))
    describer(["a"])
    [process] = pids(tmp_path)
    del describer
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_process_that_cannot_be_started_is_an_error(tmp_path):
    describer = IsolatedDescriber({"folder": str(tmp_path)}, 0.5, process=("-c", "raise SystemExit"))
    with pytest.raises(ClusterError, match="the separate process cannot be started: it ended"):
        describer(["a"])


def test_one_request_has_a_bounded_number_of_groups(tmp_path):
    describer = IsolatedDescriber({"folder": str(tmp_path)}, 5.0, FakeClock(), ("-c", COUNTING))
    groups = [f"g{number}" for number in range(2 * GROUPS_MAX + 1)]
    assert described(describer(groups)) == set(groups)
    assert (tmp_path / "requests").read_text().split() == [str(GROUPS_MAX), str(GROUPS_MAX), "1"]
    describer._end()


def test_committed_offsets_of_all_groups_are_requested_at_once(tmp_path):
    describer = IsolatedDescriber({"folder": str(tmp_path)}, 5.0, FakeClock(), ("-c", COUNTING))
    groups = [f"g{number}" for number in range(2 * GROUPS_MAX + 1)]
    assert described(describer.committed(groups)) == set(groups)
    assert (tmp_path / "requests").read_text().split() == [str(len(groups))]
    describer._end()
