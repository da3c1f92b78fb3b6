from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.api.shapes import RebalanceDetail
from rebalance_agent.api.view_shapes import build_detail, build_rebalance
from rebalance_agent.model.episode import Basis, Stall
from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.tracking.views import MemberLoad
from rebalance_agent.ui.page.group_page import group_content
from rebalance_agent.ui.sentences.explanation import explanation_of, paragraphs
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, headline, member_table
from rebalance_agent.ui.sentences.named_members import PartitionMove, member_names, moves, partitions_text
from rebalance_agent.ui.words import (
    UNKNOWN,
    ago,
    bounds_text,
    duration,
    in_words,
    listed,
    moment,
    partition_seconds,
    partition_seconds_text,
    plural,
    printable,
    stall_text,
    table_text,
    wrapped,
)
from support.observer.views import NOW, full_view


def member(name, assigned=(), *, client="c", instance=None, pod=None):
    where = Workload(pod=pod) if pod else None
    owned = {"t": tuple(assigned)} if assigned else {}
    return MemberSnapshot(name, instance, client, "/h", ("t",), {}, owned, where=where)


@pytest.mark.no_cover  # many times over what others count
@given(st.text())
def test_control_characters_are_not_printed(text):
    assert printable(text).isprintable()


def test_ordinary_names_are_unchanged():
    assert printable("orders-0 ünï 订单") == "orders-0 ünï 订单"
    assert printable("a\nb\x1b\ud800") == r"a\nb\x1b\ud800"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ms"), (0.21, "210 ms"), (6.24, "6.2 s"), (185, "3 min 5 s"), (7800, "2 h 10 min"), (59.99, "60.0 s")],
)
def test_durations_have_significant_digits(seconds, text):
    assert duration(seconds) == text


def test_a_time_in_the_future_is_shown_as_0_s_ago():
    assert ago(10_000, 7_000) == "3 s ago"
    assert ago(10_000, 11_000) == "0 s ago"


def test_times_are_utc_and_invalid_ones_are_shown():
    assert moment(1_700_000_000_123) == "2023-11-14 22:13:20.123 UTC"
    assert moment(1 << 62) == f"{1 << 62} ms"


@pytest.mark.parametrize("amount", ["210 ms", "6.2 s", "3 min 5 s", "2 h 10 min", "3.8 / s"])
@pytest.mark.parametrize("indent", ["", "  "])
def test_no_line_ends_between_a_number_and_its_unit(amount, indent):
    for length in range(80, 105):
        lines = wrapped(f"{'x' * length} {amount} and more", indent).splitlines()
        assert any(amount in line for line in lines)
        assert " ".join(" ".join(lines).split()) == f"{'x' * length} {amount} and more"


def test_bounds_read_as_words_in_a_sentence():
    assert in_words(bounds_text(0.148, 5.1)) == "148 ms to 5.1 s"
    assert in_words("up to 4.9 s") == "up to 4.9 s"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.0"), (0.0004, "0.0"), (0.036, "0.036"), (0.05, "0.1"), (0.31, "0.3"), (1234.56, "1,234.6")],
)
def test_partition_seconds_from_half_a_thousandth_are_not_shown_as_zero(value, text):
    assert partition_seconds(value) == text


def test_explain_the_page_and_watch_show_a_short_stall_alike():
    stall = Stall(None, 0.018, 0.036, Basis.BOUND)
    view = full_view(running=None)
    view = replace(
        view,
        last_episode=replace(view.last_episode, stall=stall),
        counters=replace(view.counters, stalled_partition_seconds=0.036),
    )
    close_up = GroupCloseUp(build_detail(view, NOW), (), None, None)
    detail = RebalanceDetail("g", build_rebalance([view.last_episode]), (view.last_episode,), ())
    assert "in total at least 0.036 stalled partition-seconds" in " ".join(paragraphs([detail], (), 1)[0].split())
    assert partition_seconds_text(stall) == "0.036 or more"
    assert "at least 0.036 stalled partition-seconds" in headline(close_up)
    assert "0.036 or more" in group_content(close_up, (), 0, explanation_of((), (), 3))


def test_a_bound_is_shown_with_both_limits():
    assert stall_text(Stall(6.2, 6.2, 12.0, Basis.EXACT)) == "6.2 s"
    assert stall_text(Stall(6.2, 0.2, 12.0, Basis.BOUND)) == "200 ms - 6.2 s"
    assert stall_text(Stall(None, 0.2, 12.0, Basis.BOUND)) == "200 ms or more"
    assert stall_text(Stall(6.2, 6.19, 12.0, Basis.BOUND)) == "6.2 s"
    assert stall_text(Stall(6.2, 0.0, 12.0, Basis.BOUND)) == "up to 6.2 s"
    assert stall_text(Stall(None, 0.0, 0.0, Basis.BOUND)) == "-"
    assert stall_text(Stall(0.0, 0.0, 0.0, Basis.EXACT)) == "0 ms"
    assert stall_text(None) == "-"


def test_stalled_partition_seconds_are_shown_with_both_bounds():
    assert partition_seconds_text(Stall(6.2, 6.2, 12.0, Basis.EXACT, 12.0)) == "12.0"
    assert partition_seconds_text(Stall(6.2, 0.2, 2.0, Basis.BOUND, 12.5)) == "2.0 - 12.5"
    assert partition_seconds_text(Stall(6.2, 0.0, 0.0, Basis.BOUND, 12.5)) == "up to 12.5"
    assert partition_seconds_text(Stall(None, 0.2, 2.0, Basis.BOUND)) == "2.0 or more"
    assert partition_seconds_text(None) == "-"


def test_lists_are_joined_with_commas_and_and():
    assert [listed(["a", "b", "c"][:number]) for number in range(1, 4)] == ["a", "a and b", "a, b and c"]
    assert listed([*"abcdefghij"], 3) == "a, b and 8 more"
    assert (plural(1, "member"), plural(2, "member")) == ("1 member", "2 members")
    assert partitions_text({"b": (1,), "a": (0, 1, 2)}) == "a 0-2; b 1"


def test_members_are_named_by_pod_then_instance_then_client():
    names = member_names([member("m1", pod="orders-0"), member("m2", instance="i"), member("m3", client="c3")])
    assert names == {"m1": "orders-0", "i": "i", "m3": "c3"}


def test_members_with_equal_names_are_distinguished():
    names = member_names([member("rdkafka-111111"), member("rdkafka-222222"), member("x", client="other")])
    assert names == {"rdkafka-111111": "c (111111)", "rdkafka-222222": "c (222222)", "x": "other"}


def test_moves_are_grouped_by_source_and_target_and_unmoved_partitions_omitted():
    before = [member("a", [0, 1, 2]), member("b", [3])]
    after = [member("a", [0]), member("c", [1, 3, 4])]
    assert moves(before, after) == (
        PartitionMove("t", (1,), "a", "c"),
        PartitionMove("t", (2,), "a", None),
        PartitionMove("t", (3,), "b", "c"),
        PartitionMove("t", (4,), None, "c"),
    )


def test_a_returning_static_member_kept_its_partitions():
    assert moves([member("old", [0], instance="i")], [member("new", [0], instance="i")]) == ()


_partitions = st.dictionaries(st.sampled_from("abc"), st.sets(st.integers(0, 8)), max_size=3)


@given(_partitions, _partitions)
def test_moves_transform_the_old_assignment_into_the_new_one(before, after):
    """Each partition has one owner, as in a consumer group."""

    def owners(wanted):
        return {number: name for name in sorted(wanted) for number in wanted[name]}

    had, has = owners(before), owners(after)
    members = lambda owned: [  # noqa: E731
        member(name, sorted(number for number, owner in owned.items() if owner == name)) for name in "abc"
    ]
    for way in moves(members(had), members(has)):
        for number in way.partitions:
            assert had.pop(number, None) == way.giver
            if way.taker is not None:
                had[number] = way.taker
    assert had == has


@pytest.mark.parametrize(("assigned", "shown"), [(None, UNKNOWN), ({}, "0")])
def test_a_member_with_unknown_partitions_is_not_shown_as_one_without_partitions(assigned, shown):
    view = full_view(members=(MemberLoad("m1", None, "c", "/h", assigned),))
    headings, (row,) = member_table(GroupCloseUp(build_detail(view, NOW), (), None, None))
    reported = dict(zip(headings, row, strict=True))
    assert (reported["partitions"], reported["owns"]) == (shown, UNKNOWN)


def test_columns_are_aligned_with_numbers_to_the_right():
    assert table_text(("a", "bb"), [("long", "x")]) == "a     bb\nlong  x"
    assert table_text(("a", "bb"), [("long", "x")], right=[1]) == "a     bb\nlong   x"
