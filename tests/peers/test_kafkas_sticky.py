"""``sticky`` and ``cooperative-sticky`` compared with Kafka's own Java classes: never worse in balance or moves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from docs.developers.writers.kafkas_sticky import PAGE, sticky_table
from docs.developers.writers.tables import replace_tables

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.model.partitions import count_partitions
from support.assignors.optimum import squares_and_moves
from support.assignors.rules import group, member, valid_owners

jpype = pytest.importorskip("jpype", reason="runs Java in this process")
from support.assignors.kafkas_sticky import KAFKAS_CLASS, compare, kafkas_own  # noqa: E402 - needs jpype

pytestmark = pytest.mark.integration

STICKY = STRATEGIES["sticky"]


@pytest.fixture(scope="session")
def java_sticky():
    """Kafka's ``StickyAssignor`` as a function of a group."""
    return kafkas_own("sticky")


def reported(subject):
    """The members of ``subject`` as eager sticky clients, with owned partitions in user data."""
    members = (
        replace(each, owned={}, user_data=STICKY.user_data({}, each.owned, each.generation) if each.owned else None)
        for each in subject.members
    )
    return replace(subject, members=tuple(members))


def loads(target):
    return {member_id: count_partitions(topics) for member_id, topics in target.items()}


@pytest.fixture(scope="module")
def comparisons():
    return {name: compare(name) for name in KAFKAS_CLASS}


@pytest.mark.parametrize("name", KAFKAS_CLASS)
def test_kafkas_own_is_never_better_and_sometimes_worse(comparisons, name):
    found = comparisons[name]
    assert found.groups == 1_000
    assert found.ours_worse == 0
    assert found.our_rounds == (2 if name.startswith("cooperative-") else 1)
    assert found.less_balanced
    assert found.more_moves


def test_the_table_of_the_page_has_these_numbers(comparisons):
    page = PAGE.read_text(encoding="utf-8")
    command = "run: PYTHONPATH=agent:tests python -m docs.developers.writers.kafkas_sticky"
    assert replace_tables(page, (sticky_table(comparisons),)) == page, command


def test_kafkas_own_leaves_this_group_unbalanced(java_sticky):
    subject = group(
        {"t": 2, "u": 1},
        member("a", "u"),
        member("b", "t u", owned={"t": (0, 1)}, generation=1),
        member("c", "t u", owned={"u": (0,)}, generation=1),
    )
    assert loads(java_sticky(reported(subject))) == {"a": 0, "b": 2, "c": 1}
    assert loads(STICKY.assign(reported(subject)).members) == {"a": 1, "b": 1, "c": 1}


def test_kafkas_own_moves_more_in_this_group_than_its_balance_needs(java_sticky):
    subject = group(
        {"t": 3, "u": 1},
        member("a", "t u", owned={"t": (0, 1), "u": (0,)}, generation=1),
        member("b", "t u", owned={"t": (2,)}, generation=1),
        member("c", "u"),
    )
    javas, ours = java_sticky(reported(subject)), STICKY.assign(reported(subject)).members
    owners = valid_owners(subject)
    assert squares_and_moves(subject, owners, javas) == (6, 2)
    assert squares_and_moves(subject, owners, ours) == (6, 1)


def test_kafkas_own_fails_if_owned_partitions_no_longer_exist(java_sticky):
    subject = group(
        {"t": 2}, member("a", "t", owned={"t": (5,)}, generation=1), member("b", "t", owned={"t": (6,)}, generation=1)
    )
    with pytest.raises(jpype.JException, match="No more unfilled consumers"):
        java_sticky(reported(subject))
    assert STICKY.assign(reported(subject)).members == {"a": {"t": (0,)}, "b": {"t": (1,)}}


def test_kafkas_own_assigns_a_nonexistent_partition(java_sticky):
    subject = group({"t": 2}, member("a", "t", owned={"t": (0, -1)}, generation=1), member("b", "t"))
    assert java_sticky(reported(subject)) == {"a": {"t": (-1,)}, "b": {"t": (0, 1)}}
    assert STICKY.assign(reported(subject)).members == {"a": {"t": (0,)}, "b": {"t": (1,)}}
