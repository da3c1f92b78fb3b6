"""The section of ``docs/alert-replays.md`` about fleets without faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alerts.replay_words import duration, short

__all__ = ["quiet_fleets"]

_HEAD = """\
## Quiet fleets

In these simulated fleets, nothing fails. Each group is deployed about twice per working day, and half of the groups are
autoscaled with the load. All nodes are drained one after the other, and three brokers restart one after the other. If
one of these events causes a page, `tests/slow/alerts/test_quiet_fleet.py` fails.

- **Kinds**: eager, cooperative and static members; static members behind a gateway, whose clients push telemetry;
  consumer (KIP-848), streams (KIP-1071) and share (KIP-932) groups; *only polled* groups, whose records the observer
  has no permission to read; and groups *scaled to zero*, which run for two and a half hours each night and are listed
  in `empty_groups_allow`.
  For each kind whose members can report, the members of half of the groups report. A group with 20 rebalances or more
  has a baseline for `KafkaGroupStallAboveBaseline`.
- **A deploy** replaces all members one after the other, or in 15 % of the groups all at once. In some groups, each new
  member starts before the old member stops; in other groups, it starts after that.
- **A node drain** evicts all pods of the node at the same time. They start again on other nodes 5 to 25 s later.
- **A broker restart** moves coordinators. The new coordinator reads the groups from `__consumer_offsets`, without a
  rebalance. In every third classic group, however, the clients set `client.rack`, and the group's leader rejoins when
  the broker stops and when the broker returns.

The replays do not cover lag, commits, subscriptions to regular expressions, Kafka Streams on the classic protocol,
reports of gateways, or rebalances that a change of the coordinator aborts.

*groups*: number of groups for which the alert fired, by kind. *sent*: number of groups for which the alert created a
ticket. *times*: how often the alert fired. *median* and *longest*: for how long it fired each time."""

_PLANTED = """\
{count} of the faults in the first table are injected into separate groups of this fleet, one every 20 minutes, so
that several faults are active at the same time. Each fault fires its alert once, at most a minute after the alert's
`for`, and causes at most one page or ticket at any time."""

_WHY = {
    "KafkaGroupEagerLargeGroup": "autoscaling gives 20 members to a group that uses `range`.",
    "KafkaGroupExcessMoves": "`range` and `roundrobin` redistribute all partitions in each rebalance of a deploy.",
    "KafkaGroupRebalanceStorm": """a deploy with two rebalances per member coincides with a scaling step, a node drain
  or a broker restart within 15 minutes. The alert is not sent if the deploy is detected.""",
    "KafkaGroupRolloutInProgress": "this alert only inhibits `RebalanceStorm` in deploys and drains; it is never sent.",
    "KafkaGroupStallAboveBaseline": """the groups start when the replay begins. Their members take 6 to 9 s to join,
  which stalls partitions. In all later rebalances of these groups, consumers return to their seats without a stall, so
  the normal 95th percentile of their stalls is 0.""",
    "KafkaGroupStallBudgetBurnPossible": """static members restart and return without a rebalance. In this simulation,
  they do not commit, so the time when they resumed is unknown, and the upper [bound](glossary.md#stalls) of the next
  rebalance begins at the restart.""",
    "KafkaGroupStalled": """autoscaling stopped one of two static members. Static members send no LeaveGroup, so half of
  the partitions were stalled until the stopped member's session ended, 45 s later.""",
    "KafkaGroupTopicsOnOneHost": """the coordinator's assignor `uniform` gives all partitions of one topic to one of
  two members, and all partitions of the other topic to the other member.""",
}
"""Alert -> why it fires in groups without a fault."""


def quiet_fleets(day: list[dict[str, Any]], week: list[dict[str, Any]], severity: dict[str, str]) -> list[str]:
    """Return the paragraphs. ``severity``: alert name -> severity.

    Raises:
        KeyError: an alert fired that ``_WHY`` does not explain.
    """
    parts = [_HEAD]
    for name, (size, *rows) in (("A day", day), ("A week", week)):
        groups, kinds, scrape = size["groups"], size["kinds"], duration(size["scrape"])
        parts.append(
            f"**{name} of {groups * len(kinds)} groups**, {groups} of each kind. "
            f"Scrapes and evaluations are {scrape} apart."
        )
        parts.append(_fired(rows, severity, kinds))
        if size["planted"]:
            parts.append(_PLANTED.format(count=len(size["planted"])))
    fired = {row["alert"] for row in (*day[1:], *week[1:])}
    reasons = "\n".join(_reason(alert) for alert in sorted(fired, key=_order(severity)))
    return [*parts, "**Why these alerts fire.**", reasons]


def _order(severity: dict[str, str]) -> Callable[[str], tuple[bool, str]]:
    """Return the key that sorts alerts by name, with information last."""
    return lambda alert: (severity[alert] == "info", alert)


def _reason(alert: str) -> str:
    return f"- `{short(alert)}`: {_WHY[alert]}"


def _fired(rows: list[dict[str, Any]], severity: dict[str, str], kinds: list[str]) -> str:
    lines = [
        "| alert | severity | groups | sent | times | median | longest |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    by_name = {row["alert"]: row for row in rows}
    for alert in sorted(by_name, key=_order(severity)):
        row = by_name[alert]
        groups = ", ".join(f"{row['groups'][kind]} {kind}" for kind in kinds if kind in row["groups"])
        lasts = f"{duration(round(row['median']))} | {duration(row['longest'])}"
        lines.append(f"| `{short(alert)}` | {severity[alert]} | {groups} | {row['sent']} | {row['times']} | {lasts} |")
    return "\n".join(lines)
