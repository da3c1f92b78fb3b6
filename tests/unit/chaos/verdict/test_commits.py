"""Commits past unread records, and by members that are no longer the owner, are found."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chaos.members.commits import COMMIT_S, Commits
from chaos.members.kinds import SEATS_KINDS, group_name
from chaos.verdict import commits
from chaos.verdict.commits import Commit, judged, past_unread, second_owners
from rebalance_agent.groupprotocol.tables import OFFSET_COMMIT
from support.kafka.commits import GROUP, Shown, commit_key

A, B = "a", "b"


@pytest.mark.parametrize(
    ("committed", "read", "wrong"),
    [
        ((20, 2), {0: 10, 1: 20}, 0),  # at the moment of the last read
        ((19, 2), {0: 10, 1: 20}, 1),
        ((19, 1), {0: 10, 1: 20}, 0),
        ((30, 2), {1: 20}, 1),  # offset 0 was never read
        ((30, 9), {0: 10, 1: 11}, 0),  # what follows is no acknowledged record, but a marker
        ((30, 0), {}, 0),
    ],
)
def test_a_commit_may_only_pass_records_that_were_read_before(committed, read, wrong):
    assert len(past_unread([Commit(*committed, A)], [0, 1], read)) == wrong


@pytest.mark.parametrize(
    ("names", "assigned", "wrong"),
    [
        ([A, A, B, B], {}, 0),
        ([A, B, A], {A: [1]}, 1),
        ([A, B, A], {A: [25]}, 0),  # it was assigned the partition again
        ([A, B, A, A], {A: [1]}, 1),  # then it is the last one
        ([A, "", B, "", A], {}, 1),
        (["", B, ""], {}, 0),
    ],
)
def test_a_member_may_not_commit_after_the_next_owner_did(names, assigned, wrong):
    rows = [Commit(at * 10, at, name) for at, name in enumerate(names, 1)]
    assert len(second_owners(rows, assigned)) == wrong


def test_a_commit_names_its_member_without_the_zero_byte_that_librdkafka_sends(monkeypatch):
    facts = {"offset": 7, "metadata": f"{A}\0", "commit_timestamp": 1}
    record = Shown(0, commit_key(2), OFFSET_COMMIT.value.encode(3, facts), 5)
    monkeypatch.setattr(commits, "everything", lambda *_: [record])
    assert commits.commits("", "t") == {(GROUP, 2): [Commit(5, 7, A)]}
    assert commits.commits("", "another topic") == {}


def test_commits_are_judged_with_the_lines_of_their_groups_members():
    kind = SEATS_KINDS[0]
    lines = [("assigned", 1, (0,)), ("read", 10, (0, 0))]
    groups = SimpleNamespace(members={kind.name: [SimpleNamespace(lines=lines, who={"process": f"{A}.1"})]})
    key = group_name(kind), 0
    assert judged(groups, [kind], {(0, 0)}, {key: [Commit(11, 1, A)]}).wrong == ()
    late = judged(groups, [kind], {(0, 0), (0, 1)}, {key: [Commit(11, 2, A)]})
    assert len(late.wrong) == 1
    assert judged(groups, [kind], {(0, 0)}, {}).wrong == ("there is no commit, so none can be wrong",)


def test_a_member_commits_what_it_processed_once_a_second_and_before_it_gives_it_up():
    done = []
    member = Commits(False, done.append)
    member._clock = SimpleNamespace(monotonic=lambda: now)
    now = COMMIT_S
    member.read(0, 5)
    member.commit_when_due()
    member.read(0, 6)
    member.read(1, 2)
    member.commit_when_due()
    assert done == [{0: 6}]
    member.give_up([1], "lost")
    member.give_up([0], "revoked")
    assert done == [{0: 6}, {0: 7}]
    now += COMMIT_S
    member.commit_when_due()
    assert len(done) == 2


def test_a_client_whose_callbacks_must_not_wait_commits_in_its_own_way_there():
    waited, sent = [], []
    member = Commits(False, waited.append, sent.append)
    member.read(0, 5)
    member.give_up([0], "revoked")
    member.read(1, 2)
    member.commit()
    assert (sent, waited) == ([{0: 6}], [{1: 3}])
