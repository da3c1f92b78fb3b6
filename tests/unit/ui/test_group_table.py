from dataclasses import replace

import pytest

from rebalance_agent.api.routes import SORT_KEYS
from rebalance_agent.api.shapes import GroupList
from rebalance_agent.api.view_shapes import build_summary
from rebalance_agent.model.episode import Basis, Source, Stall
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.patterns.group_stalls import Limit, StalledTime
from rebalance_agent.tracking.views import GroupView, RunningRebalance
from rebalance_agent.ui.sentences.group_table import COLUMNS, group_rows, groups_text, matching
from support.observer.views import NOW, full_view

BROKEN = "co-partitioning is broken: 1 partition number has different owners in different topics"


def groups(*views):
    return GroupList(NOW, len(views), 0, tuple(build_summary(replace(view, copartition_breaks=0)) for view in views))


def gaps(*views):
    listed = GroupList(NOW, len(views), 0, tuple(build_summary(view) for view in views))
    return groups_text(group_rows(listed)).partition("GROUP")[0].splitlines()


def stalled(view, seconds):
    return replace(view, last_episode=replace(view.last_episode, stall=Stall(seconds, seconds, 9.0, Basis.EXACT)))


FLEET = groups(
    stalled(full_view("orders", running=None), 6.21),
    full_view("billing", state=GroupState.PREPARING_REBALANCE, running=RunningRebalance(NOW - 65_000, 6)),
    stalled(full_view("audit", GroupType.CONSUMER, running=None), 0.3),
)


def test_rebalancing_groups_are_first_in_any_order():
    assert [row.group for row in group_rows(FLEET)] == ["billing", "audit", "orders"]
    assert [row.group for row in group_rows(FLEET, "-group")] == ["billing", "orders", "audit"]
    assert [row.running for row in group_rows(FLEET)] == [True, False, False]


def test_a_name_of_any_length_is_short_in_the_table():
    (row,) = group_rows(groups(full_view("\x1b" + "n" * 32_000)))
    assert (row.group, row.cells[0]) == ("\x1b" + "n" * 32_000, "\\x1b" + "n" * 118 + "…")


def test_groups_that_are_stalled_as_a_whole_come_first_by_the_level_of_the_alert():
    def busy(name, stalled_seconds=None):
        since_ms = None if stalled_seconds is None else NOW - round(stalled_seconds * 1000)
        return full_view(name, running=RunningRebalance(NOW - 200_000, 6), stalled_time=StalledTime(since_ms=since_ms))

    rows = group_rows(groups(busy("a"), busy("b", 30.9), busy("c", 31), busy("d", 91), full_view("e", running=None)))
    assert [(row.group, row.stall) for row in rows] == [
        ("d", Limit.CRITICAL),
        ("c", Limit.WARNING),
        ("a", None),
        ("b", None),
        ("e", None),
    ]
    assert [row.styles[0] for row in rows] == ["bold red", *["bold yellow"] * 3, ""]


def stormy(name, rebalances, **changes):
    return full_view(name, recent_ms=tuple(NOW - 1_000 * number for number in range(rebalances)), **changes)


def test_a_group_in_a_rebalance_storm_is_marked_and_precedes_other_rebalancing_groups():
    rows = group_rows(
        groups(
            stormy("calm", 6, running=None),
            full_view("busy", running=RunningRebalance(NOW - 2_000, 6), stalled_time=StalledTime()),
            stormy("storm", 7, running=None),
            stormy("deploy", 7, running=None, rollout_in_progress=True),
        )
    )
    assert [(row.group, row.storm, row.cells[1]) for row in rows] == [
        ("storm", True, "Stable, storm"),
        ("busy", False, "Stable"),
        ("calm", False, "Stable"),
        ("deploy", False, "Stable"),
    ]
    assert [row.styles[0] for row in rows] == ["bold yellow", "bold yellow", "", ""]


def test_rebalances_older_than_a_quarter_of_an_hour_are_no_storm():
    old = full_view("old", recent_ms=tuple(NOW - 900_001 - number for number in range(9)), running=None)
    assert [row.storm for row in group_rows(groups(old))] == [False]


def test_columns_of_rebalances_and_stalls_are_within_80_characters():
    busy = full_view("readings-cooperative", state=GroupState.PREPARING_REBALANCE)
    headings, row = groups_text(group_rows(groups(stalled(busy, 6.21)))).splitlines()
    for title in ("STATE", "RUNNING", "LAST STALL", "REBALANCES"):
        assert headings.index(title) + len(title) <= 80
    assert [cell for cell in row[:80].split("  ") if cell.strip()][:2] == ["readings-cooperative", "PreparingRebalance"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"unassigned": 3}, ["orders: 3 partitions have no owner"]),
        ({"unassigned": 1}, ["orders: 1 partition has no owner"]),
        (
            {"unassigned": 3, "copartition_breaks": 1},
            [f"orders: 3 partitions have no owner; {BROKEN}"],
        ),
        ({"unassigned": None, "copartition_breaks": None}, []),
        ({"unassigned": 3, "running": RunningRebalance(NOW - 2_000, 6)}, []),
        ({"unassigned": 3, "members": ()}, []),
    ],
)
def test_partitions_without_an_owner_and_broken_copartitioning_are_above_the_table(changes, said):
    assert gaps(full_view("orders", **{"running": None, "copartition_breaks": 0, **changes})) == said


def test_only_some_groups_with_gaps_have_a_line():
    bare = [full_view(f"bare-{number}", running=None, unassigned=2, copartition_breaks=0) for number in range(5)]
    assert gaps(*bare[:3]) == [f"bare-{number}: 2 partitions have no owner" for number in range(3)]
    assert gaps(*bare)[3:] == ["and 2 more groups with gaps in their assignments"]


def test_groups_are_in_the_requested_order():
    assert [row.group for row in group_rows(FLEET, "-stall")][1:] == ["orders", "audit"]
    assert [row.group for row in group_rows(FLEET, "stall")][1:] == ["audit", "orders"]


def test_cells_show_known_values():
    row = group_rows(FLEET)[0]
    assert row.cells == (
        "billing",
        "PreparingRebalance",
        "1 min 5 s",
        "-",
        "2",
        "member_joined",
        "2",
        "6",
        "1.33",
        "2",
        "classic",
    )
    (poor,) = group_rows(groups(GroupView("poor", GroupType.SHARE, Source.ADMIN, GroupState.EMPTY, 1, NOW)))
    assert poor.cells == ("poor", "Empty", "-", "-", "0", "-", "0", "-", "-", "-", "share (polled)")


def test_the_text_has_columns_with_right_aligned_numbers():
    assert groups_text(group_rows(FLEET)) == (
        "GROUP    STATE                 RUNNING  LAST STALL  REBALANCES  LAST TRIGGER   MEMBERS  PARTITIONS  SKEW"
        "  GEN  TYPE\n"
        "billing  PreparingRebalance  1 min 5 s           -           2  member_joined        2           6  1.33"
        "    2  classic\n"
        "audit    Stable                      -      300 ms           2  member_joined        2           6  1.33"
        "    2  consumer\n"
        "orders   Stable                      -       6.2 s           2  member_joined        2           6  1.33"
        "    2  classic"
    )
    assert groups_text([]).startswith("GROUP  STATE")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("", 3), ("RD", 1), ("i", 2), ("b*", 1), ("*i*", 2), ("[ab]*", 2), ("none", 0), ("(", 0), ("[", 0)],
)
def test_a_filter_is_a_part_of_the_name_or_a_pattern(wanted, found):
    assert len(matching(group_rows(FLEET), wanted)) == found


def test_a_name_with_line_breaks_is_shown_in_one_line():
    (row,) = group_rows(groups(full_view("a\n\x1b[2Jb")))
    assert row.group == "a\n\x1b[2Jb"
    assert row.cells[0] == r"a\n\x1b[2Jb"


def test_every_column_has_an_order():
    assert {column.sort for column in COLUMNS} <= SORT_KEYS.keys()
