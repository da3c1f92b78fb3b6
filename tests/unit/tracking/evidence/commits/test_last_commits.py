"""The last commits of partitions, in blocks of neighbouring ones, and which of them make room for others."""

from __future__ import annotations

import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.groupprotocol.commit_key import commit_key
from rebalance_agent.tracking.evidence.commits import last_commits
from rebalance_agent.tracking.evidence.commits.last_commits import IDLE_MS, KEY_BYTES_MAX, LastCommits

KEYS = [commit_key(group, topic, number) for group in ("g", "h") for topic in ("t", "u") for number in (0, 1, 255, 256)]
STEPS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 9) | st.none()))

NOW = 1_000_000_000
GROUPS = "abcdefgh"
NUMBERS = (0, 1, 2, 3, 44, 254, 255, 256, 300)


def _commit(commits, group, numbers, at=NOW, now=NOW):
    commits.update({commit_key(group, "t", number): (at, at) for number in numbers}, now)


def _kept(commits, group, numbers=range(301)):
    return [number for number in numbers if commits.get(commit_key(group, "t", number))]


@given(STEPS)
def test_each_partition_has_its_own_commit(steps):
    commits, expected = LastCommits(), {}
    for key, at_ms in steps:
        commits.update({key: None if at_ms is None else (at_ms, at_ms)}, NOW)
        if at_ms is None:
            expected.pop(key, None)
        else:
            expected[key] = max(at_ms, expected.get(key, at_ms))
    found = {key: commit[0] for key in KEYS if (commit := commits.get(key))}
    assert found == expected
    of_h = [commit[0] for commit in commits.of_group(b"h", KEYS[8:])]
    assert of_h == [expected[key] for key in KEYS[8:] if key in expected]
    commits.update(dict.fromkeys(expected), NOW)
    assert pickle.dumps(commits) == pickle.dumps(LastCommits())


@given(st.lists(st.tuples(st.sampled_from(GROUPS), st.sampled_from(NUMBERS), st.integers(0, 2 * IDLE_MS))))
def test_the_number_of_commits_is_bounded_and_each_that_is_kept_is_right(steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(last_commits, "PARTITIONS_MAX", 10)
        patch.setattr(last_commits, "GROUPS_MAX", 5)
        commits, expected, now = LastCommits(), {}, NOW
        for group, number, later_ms in steps:
            now += later_ms
            is_new = not _kept(commits, group, NUMBERS)
            _commit(commits, group, [number], at=now, now=now)
            expected[group, number] = now
            assert not is_new or _kept(commits, group, NUMBERS) == [number], "a newcomer always has room"
            found = {(group, number): commits.get(commit_key(group, "t", number)) for group, number in expected}
            kept = {key: commit[0] for key, commit in found.items() if commit}
            assert kept.items() <= expected.items()
            assert len(kept) <= 10
            assert len({group for group, _ in kept}) <= 5
        for group in GROUPS:
            commits.forget(group.encode())
        assert pickle.dumps(commits) == pickle.dumps(LastCommits())


def test_a_high_partition_takes_the_memory_of_one():
    commits = LastCommits()
    commits.update({commit_key("g", f"t-{number:03}", 255): (NOW, 1) for number in range(391)}, NOW)
    assert max(map(sys.getsizeof, commits._blocks.values())) < 100
    _commit(commits, "h", range(20))
    assert _kept(commits, "h") == list(range(20))


@pytest.mark.parametrize("numbers", [range(256), range(255, -1, -1), range(1, 256, 2)], ids=["up", "down", "odd"])
def test_partitions_may_come_in_any_order_and_with_gaps(numbers):
    commits = LastCommits()
    for at in (NOW, NOW + 1):
        for number in numbers:
            _commit(commits, "g", [number], at=at + number)
    for number in numbers:
        before, last = NOW + number, NOW + 1 + number
        assert commits.get(commit_key("g", "t", number)) == (last, last, before, before)
    assert _kept(commits, "g") == sorted(numbers)


def test_groups_that_no_longer_commit_make_room_first(monkeypatch):
    monkeypatch.setattr(last_commits, "PARTITIONS_MAX", 10)
    commits = LastCommits()
    _commit(commits, "older", range(2), at=NOW - 2 * IDLE_MS)
    _commit(commits, "idle", range(2), at=NOW - IDLE_MS)
    _commit(commits, "large", range(6))
    _commit(commits, "new", range(2))
    assert [len(_kept(commits, group)) for group in ("older", "idle", "large", "new")] == [0, 2, 6, 2]


def test_groups_with_the_most_commits_make_room_for_a_new_group(monkeypatch):
    monkeypatch.setattr(last_commits, "PARTITIONS_MAX", 10)
    commits = LastCommits()
    _commit(commits, "small", range(2))
    _commit(commits, "large", range(100))
    _commit(commits, "new", range(2))
    _commit(commits, "large", range(100))
    assert [_kept(commits, group) for group in ("small", "large", "new")] == [[0, 1], list(range(6)), [0, 1]]
    for group in (b"small", b"new"):
        commits.forget(group)
    _commit(commits, "large", range(100))
    assert _kept(commits, "large") == list(range(10))


def test_a_group_whose_commits_made_room_is_still_known_to_commit(monkeypatch):
    monkeypatch.setattr(last_commits, "PARTITIONS_MAX", 10)
    commits = LastCommits()
    _commit(commits, "g", range(2), at=NOW - IDLE_MS - 60_000)
    _commit(commits, "g", range(2), at=NOW - IDLE_MS)
    _commit(commits, "new", range(20))
    assert (_kept(commits, "g"), commits.span_ms(b"g")) == ([], 60_000)
    _commit(commits, "g", [5])
    assert (_kept(commits, "g"), commits.span_ms(b"g")) == ([5], 60_000 + IDLE_MS)


def test_of_too_many_groups_those_without_a_commit_for_the_longest_time_are_forgotten(monkeypatch):
    monkeypatch.setattr(last_commits, "GROUPS_MAX", 5)
    commits = LastCommits()
    for at, group in enumerate("abcde"):
        _commit(commits, group, [0], at=NOW + at)
    _commit(commits, "a", [0], at=NOW + 9)
    _commit(commits, "new", [0], at=NOW + 9)
    assert [group for group in ("a", "b", "c", "d", "e", "new") if _kept(commits, group)] == ["a", "c", "d", "e", "new"]
    assert [commits.span_ms(group) for group in (b"a", b"b", b"c")] == [9, 0, 0]


def test_a_group_that_is_forgotten_leaves_no_commit():
    commits = LastCommits()
    _commit(commits, "g", [1])
    _commit(commits, "h", [0])
    commits.forget(b"g")
    assert (_kept(commits, "g"), _kept(commits, "h"), commits.span_ms(b"g")) == ([], [0], 0)


def test_a_commit_with_a_key_that_is_too_long_is_not_kept():
    commits = LastCommits()
    long, longest = (commit_key("g" * count, "t" * 249, 0) for count in (250, 249))
    commits.update({long: (5, 5)}, NOW)
    commits.update({longest: (5, 5)}, NOW)
    assert (len(longest), commits.get(longest) is None, commits.get(long)) == (KEY_BYTES_MAX, False, None)
