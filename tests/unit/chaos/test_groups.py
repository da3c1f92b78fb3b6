"""Groups of all types take part, and compared groups have equal conditions."""

from __future__ import annotations

import random
import sys
from types import SimpleNamespace

import pytest

from chaos.members.kinds import INSTRUMENTED, KINDS, SEATS_KINDS, TRIED, batches, group_name
from chaos.members.member import CLIENTS
from chaos.processes.groups import MEMBERS, PROGRAMS, Groups
from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.testing.kafka.broker_settings import OFFSETS_PARTITIONS
from support.members.member_lines import ProcessMember
from support.observer.observing import eventually


def test_compared_groups_change_together_and_differ_only_in_our_instrumentation():
    together, *others = batches(KINDS)
    assert tuple(each.name for each in together) == TRIED
    assert all(len(each) == 1 for each in others)
    assert {each.name for batch in (together, *others) for each in batch} == {each.name for each in KINDS}
    assert {(each.client, str(each.settings), each.rest_s, each.static, each.process) for each in together} == {
        (together[0].client, str(together[0].settings), together[0].rest_s, False, True)
    }
    assert [each.name for each in together if each.instrumented] == [INSTRUMENTED]


def test_compared_groups_have_the_same_coordinator():
    groups = [group_name(each) for each in KINDS if each.name in TRIED]
    assert len({offsets_partition(each, OFFSETS_PARTITIONS) for each in groups}) == 1


def test_every_client_program_runs_as_a_process_of_some_kind_of_group():
    assert {each.client for each in (*KINDS, *SEATS_KINDS) if each.process} == {*CLIENTS, *PROGRAMS}


def test_an_excluded_kind_has_no_group():
    assert [each.name for batch in batches(KINDS[:2]) for each in batch] == [KINDS[1].name, KINDS[0].name]


def all_groups(kinds=KINDS[:1]):
    return Groups(SimpleNamespace(bootstrap_servers="", directory=""), "topic", "", 1, kinds)


def program(text):
    """A member that is this Python program."""
    return ProcessMember([sys.executable, "-c", text])


def test_a_member_that_does_not_leave_cleanly_at_the_end_is_an_error(monkeypatch):
    fails = "import sys; sys.stdin.read(); sys.exit('left amid it all')"
    alone = all_groups()
    monkeypatch.setattr(alone, "_join", lambda *_: [program(fails)])
    alone._stop.set()
    alone._live(alone.kinds, random.Random(1))
    (error,) = alone.errors
    assert error.startswith(f"{KINDS[0].name}: AssertionError")
    assert "left amid it all" in error


def test_a_failure_to_close_one_member_does_not_skip_the_others(monkeypatch):
    class Failing:
        def close(self):
            raise OSError("gone")

    alone = all_groups()
    waited = iter([False] * (MEMBERS[0] - 1) + [True])
    monkeypatch.setattr(alone, "_stop", SimpleNamespace(wait=lambda _: next(waited)))
    monkeypatch.setattr(alone, "_join", lambda *_: [Failing()])
    monkeypatch.setattr(alone, "members", {KINDS[0].name: ["somebody"]})
    alone._live(alone.kinds, random.Random(1))
    assert alone.errors == [f"{KINDS[0].name}: OSError('gone')"] * MEMBERS[0]


def test_killing_a_member_that_ended_by_itself_is_an_error():
    lives = program("import sys; sys.stdin.read()")
    all_groups()._leave([lives], kill=True)
    dead = program("import sys; sys.exit('no brokers')")
    eventually(lambda: dead._process.poll() is not None)
    with pytest.raises(AssertionError, match=r"had ended by itself with exit code 1: .*no brokers"):
        all_groups()._leave([dead], kill=True)
