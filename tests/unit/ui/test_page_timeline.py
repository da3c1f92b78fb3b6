import re
from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Basis, Stall, Trigger
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.page.owners_picture import SLIM, WIDE
from rebalance_agent.ui.page.owners_timeline import timeline
from rebalance_agent.ui.page.timeline_columns import OwnedCount, TimelineColumn
from support.observer.views import NOW


def column(number, held, *, stall=1.0, protocol=RebalanceProtocol.EAGER, **changes):
    given = TimelineColumn(
        last=number,
        previous=number - 1,
        at_ms=NOW + number * 60_000,
        started_ms=NOW + number * 60_000 - round((stall or 0) * 1_000),
        trigger=Trigger.MEMBER_JOINED,
        stall=None if stall is None else Stall(stall, stall, stall, Basis.EXACT),
        protocol=protocol,
        moved=1,
        skew_ratio=1.25,
        members=len(held),
        held={member: OwnedCount(count, hash((member, count))) for member, count in held.items()},
    )
    return replace(given, **changes)


def wide(columns, running=None):
    """The timeline without the picture for narrow screens."""
    return re.sub(r'<div class="slim">.*?</div>', "", timeline(columns, running))


def slim(columns, running=None):
    """The picture for narrow screens."""
    return re.search(r'<div class="slim">(.*?)</div>', timeline(columns, running))[1]


def bars(html, member):
    """(left, right) of what a member owned, as far as marks explain it, and of the parts between."""
    return [
        (float(x), float(x) + float(width))
        for x, width in re.findall(rf'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"[^>]*data-t="{member}: ', html)
    ]


def test_without_a_rebalance_the_timeline_states_that_owners_are_unknown():
    assert "earlier owners are unknown" in timeline([], None)


def test_rebalances_without_members_have_no_timeline():
    html = timeline([column(1, {}), column(2, {})], None)
    assert "The group had no members after any of the stored rebalances." in html
    assert "<svg" not in html


def test_every_rebalance_has_a_mark_and_every_owner_a_bar():
    html = wide([column(1, {"a": 4}), column(2, {"a": 2, "b": 2}), column(3, {"b": 4})])
    assert html.count("trigger") == 3
    assert (len(bars(html, "a")), len(bars(html, "b"))) == (2, 2)
    assert "a: 4 partitions from generation 1 on" in html
    assert "member joined; longest stall 1.0 s, 1 partition moved, 2 members, skew 1.25" in html


def test_a_longer_stall_is_a_wider_gap():
    html = wide([column(1, {"a": 4}), column(2, {"a": 4}, stall=0.2), column(3, {"a": 4}, stall=20.0)])
    first, second, third = bars(html, "a")
    assert 0 < second[0] - first[1] < third[0] - second[1]
    assert third[1] <= WIDE.width


def test_in_a_cooperative_group_members_that_revoke_nothing_continue():
    before, after = column(1, {"a": 4}), column(2, {"a": 4})
    cells = {
        protocol: len(re.findall(r'class="h8"', wide([before, replace(after, protocol=protocol)])))
        for protocol in (RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE)
    }
    # The legend also has one.
    assert cells == {RebalanceProtocol.EAGER: 3, RebalanceProtocol.COOPERATIVE: 4}
    unseen = replace(after, protocol=RebalanceProtocol.COOPERATIVE, previous=None)
    assert len(re.findall(r'class="h8"', wide([before, unseen]))) == 3


def test_a_running_rebalance_is_at_the_end():
    html = timeline([column(1, {"a": 4})], RunningRebalance(NOW, 4))
    assert 'class="running" data-t="rebalancing since 2023-11-14 22:13:20 UTC: 4 partitions are stalled"' in html
    assert "running" not in timeline([column(1, {"a": 4})], None)


def test_an_unknown_stall_is_shown_as_unknown():
    html = timeline([column(1, {"a": 4}, stall=None, skew_ratio=None)], None)
    assert "longest stall unknown" in html
    assert "skew" not in html


def test_many_members_are_bounded_and_counted():
    html = timeline([column(1, {f"m{number:04}": 1 for number in range(150)}, members=5_000)], None)
    assert html.count('data-r="') == WIDE.rows + 2 + SLIM.rows + 1
    assert "4,940 members" in html
    assert len(html) < 60_000


def test_on_a_narrow_screen_each_name_is_above_its_bars():
    names = [f"{'orders-' * 9}{number}" for number in range(3)]
    html = slim([column(number, dict.fromkeys(names, 4)) for number in range(1, 5)], RunningRebalance(NOW, 4))
    boxes = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" class="(\w+)', html)
    texts = re.findall(r'<text x="0" y="([\d.]+)" class="tick">([^<]+)<', html)
    assert [text[-9:] for _, text in texts] == [name[-9:] for name in names]
    assert max(len(text) for _, text in texts) == SLIM.letters
    assert max(float(x) + float(width) for x, _, width, _, _ in boxes) <= SLIM.width
    tops = sorted({float(y) for _, y, _, _, kind in boxes if kind == "h8"})
    for (y, _), top in zip(texts, tops, strict=True):
        assert top - SLIM.over < float(y) < top
    coloured = [(float(y), float(y) + float(high)) for _, y, _, high, kind in boxes if kind == "stall"]
    assert not any(begins - 3 < float(y) < ends for y, _ in texts for begins, ends in coloured)
    assert "more" not in html


def test_on_a_narrow_screen_the_end_is_shown_and_omitted_rebalances_are_counted():
    members = {f"m{number:02}": 1 for number in range(SLIM.rows + 1)}
    columns = [column(number, members) for number in range(1, SLIM.columns + 3)]
    html = slim(columns)
    assert html.count(" trigger") == SLIM.columns
    assert "generation 2:" not in html
    assert "generation 3:" in html
    assert "A wider screen shows 2 more rebalances and 1 more member." in html
    empty = [column(0, {"a": 1}), *(column(number, {}) for number in range(1, SLIM.columns + 1))]
    assert '<p class="slim">The group had no members after the last 8 rebalances.</p>' in timeline(empty, None)


@pytest.mark.parametrize("evil", ["</svg><script>x()</script>", '" onclick="x()', "\ud800\u202e&amp;"])
def test_names_are_escaped(evil):
    html = timeline([column(1, {evil: 4})], None)
    assert "<script" not in html
    assert '" onclick="' not in html
    assert "\ud800" not in html


def test_the_timeline_is_deterministic():
    columns = [column(1, {"a": 4, "b": 1}), column(2, {"b": 2, "a": 2})]
    assert timeline(columns, None) == timeline(columns, None)
