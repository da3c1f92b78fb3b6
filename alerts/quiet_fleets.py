"""The section of ``docs/alert-replays.md`` on fleets in which nothing fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alerts.replay_words import duration, short

__all__ = ["quiet_fleets"]

_HEAD = """\
## Quiet fleets

In these fleets nothing fails. Groups are deployed about twice a working day, half of them follow the load by
autoscaling, all nodes are drained one after the other, and three brokers restart one after the other. No alert pages
for that, or `tests/slow/alerts/test_quiet_fleet.py` fails.

- **Kinds**: eager, cooperative and static members; static members behind a gateway, whose clients push telemetry;
  KIP-848 consumer, streams (KIP-1071) and share groups; groups whose records the observer has no permission to read;
  and groups that run for two and a half hours each night and are named in `empty_groups_allow`. In half of the groups
  whose kind allows it, members report. A group with 20 rebalances or more has a baseline of its own.
- **A deploy** replaces all members, one after the other or (in 15 % of the groups) together. The successor comes first
  or last.
- **A drain** of a node evicts all its pods at the same time. They start again on other nodes 5 to 25 s later.
- **A restart of a broker** moves coordinators. The next coordinator reads the groups from `__consumer_offsets`,
  without a rebalance. But in every third classic group the clients set `client.rack`: its leader rejoins when the
  broker stops, and when it returns.

Left out: lag, commits, subscriptions by regular expression, Kafka Streams on the classic protocol, the gateway's
reports, and rebalances that a change of the coordinator aborts.

*sent*: in how many groups the alert was a ticket. *times*, *median* and *longest*: how often and how long it fired."""

_PLANTED = """\
Among these groups, {count} of the faults of the first table are planted in groups of their own, one every 20 minutes,
so that several run at the same time. Each fires its alert once, within its `for` and a minute, and causes at most one
notification for a pager or a ticket at each moment."""

_WHY = {
    "KafkaGroupEagerLargeGroup": "autoscaling brings a group under `range` to 20 members.",
    "KafkaGroupExcessMoves": "`range` and `roundrobin` redistribute all partitions in each rebalance of a deploy.",
    "KafkaGroupRebalanceStorm": """a deploy, with two rebalances for each member, and a scaling step, drain or restart
  of a broker in the same 15 minutes. It is not sent if the deploy is recognised.""",
    "KafkaGroupRolloutInProgress": "the deploys and drains themselves; it is never sent.",
    "KafkaGroupStallBudgetBurnPossible": """restarts of static members, which return without a rebalance. Here they do
  not commit, so nothing shows when they worked again, and the upper bound of the next rebalance begins with the
  restart.""",
    "KafkaGroupStalled": """autoscaling ended one of two static members, which send no LeaveGroup: its half of the
  partitions were stalled until its session ended, 45 s later.""",
    "KafkaGroupTopicsOnOneHost": """`uniform` gives all partitions of a topic to one of two members, and those of the
  other topic to the other member.""",
}
"""Alert -> why it fires in groups without a fault."""


def quiet_fleets(day: list[dict[str, Any]], week: list[dict[str, Any]], severity: dict[str, str]) -> list[str]:
    """Return the paragraphs; ``severity`` of each alert by name.

    Raises:
        KeyError: an alert fired for which this page has no explanation.
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
    return [*parts, "**Why they fire.**", "\n".join(_reason(alert) for alert in sorted(fired, key=_order(severity)))]


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
