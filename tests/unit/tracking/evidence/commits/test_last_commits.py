"""The last commits of partitions, in blocks of neighbouring ones."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.groupprotocol.commit_key import commit_key
from rebalance_agent.tracking.evidence.commits import last_commits
from rebalance_agent.tracking.evidence.commits.last_commits import KEY_BYTES_MAX, LastCommits

KEYS = [commit_key(group, topic, number) for group in ("g", "h") for topic in ("t", "u") for number in (0, 1, 255, 256)]
STEPS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 9) | st.none()))


@given(STEPS)
def test_each_partition_has_its_own_commit(steps):
    commits, expected = LastCommits(), {}
    for key, at_ms in steps:
        commits.update({key: None if at_ms is None else (at_ms, at_ms)})
        if at_ms is None:
            expected.pop(key, None)
        else:
            expected[key] = max(at_ms, expected.get(key, at_ms))
    found = {key: commit[0] for key in KEYS if (commit := commits.get(key))}
    assert found == expected
    of_h = [commit[0] for commit in commits.of_group(b"h", KEYS[8:])]
    assert of_h == [expected[key] for key in KEYS[8:] if key in expected]
    commits.update(dict.fromkeys(expected))
    assert pickle.dumps(commits) == pickle.dumps(LastCommits())


def test_a_group_that_is_forgotten_leaves_no_commit_and_room_for_others(monkeypatch):
    monkeypatch.setattr(last_commits, "PARTITIONS_MAX", 2)
    commits = LastCommits()
    commits.update({commit_key("g", "t", 1): (5, 5)})
    commits.update({commit_key("h", "t", 0): (5, 5)})
    assert commits.get(commit_key("h", "t", 0)) is None
    commits.forget(b"g")
    commits.update({commit_key("h", "t", 0): (5, 5)})
    assert commits.get(commit_key("h", "t", 0)) == (5, 5, -1, -1)
    assert commits.get(commit_key("g", "t", 1)) is None


def test_a_partition_without_a_commit_takes_the_room_of_one_before_one_that_has(monkeypatch):
    monkeypatch.setattr(last_commits, "PARTITIONS_MAX", 4)
    commits = LastCommits()
    for number in (3, 4, 0):
        commits.update({commit_key("g", "t", number): (5, 5)})
    assert [number for number in range(5) if commits.get(commit_key("g", "t", number))] == [0, 3]


def test_a_commit_with_a_key_that_is_too_long_is_not_kept():
    commits = LastCommits()
    long, longest = (commit_key("g" * count, "t" * 249, 0) for count in (250, 249))
    commits.update({long: (5, 5)})
    commits.update({longest: (5, 5)})
    assert (len(longest), commits.get(longest) is None, commits.get(long)) == (KEY_BYTES_MAX, False, None)
