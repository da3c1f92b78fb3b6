"""The strategy that the votes choose, and the message to a rejected member."""

from __future__ import annotations

import pytest

from rebalance_agent.clients.negotiation import explain_inconsistent_protocols, select_strategy


@pytest.mark.parametrize(
    ("offers", "chosen"),
    [
        ([["range"]], "range"),
        ([["a", "b"], ["a", "b"]], "a"),
        ([["b", "a"], ["a", "b"], ["b", "a"]], "b"),
        ([["x", "b", "a"], ["x", "b", "a"], ["a", "b"]], "b"),
        ([["a"], ["b"]], None),
        ([["a"], []], None),
        ([], None),
    ],
)
def test_each_member_votes_for_its_first_common_strategy_and_most_votes_win(offers, chosen):
    assert select_strategy(offers) == chosen


@pytest.mark.parametrize(
    ("tied", "first"),
    [
        # The order of a java.util.HashMap with these keys, as Java prints it.
        (("range", "roundrobin"), "range"),
        (("range", "sticky"), "sticky"),
        (("sticky", "roundrobin"), "sticky"),
        (("cooperative-sticky", "range"), "range"),
    ],
)
def test_a_tie_is_decided_like_javas_map_order(tied, first):
    for one, two in (tied, tied[::-1]):
        assert select_strategy([(one, two), (two, one)]) == first


def test_the_explanation_groups_members_that_offer_the_same():
    text = explain_inconsistent_protocols("new", ["sticky"], {"a": ["range", "rr"], "b": ["range"], "c": ["range"]})
    assert text == (
        "InconsistentGroupProtocol: new offers sticky, and no strategy is offered by all members: a offers range, rr; "
        "b, c offer range, so new must list range. To change a group's strategy, let all members list the old and the "
        "new one first, then remove the old one."
    )


def test_the_explanation_of_a_big_group_stays_short():
    text = explain_inconsistent_protocols("new", ["x"], {f"member-{n}": ["range"] for n in range(2_000)})
    assert "member-4 and 1995 more offer range" in text
    assert len(text) < 500


def test_the_explanation_names_a_group_whose_own_members_share_no_strategy():
    text = explain_inconsistent_protocols("new", [], {"a": ["x"], "b": ["y"]})
    assert "new offers nothing" in text
    assert "a offers x; b offers y. The other members have no strategy in common." in text
