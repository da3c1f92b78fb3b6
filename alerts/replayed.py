"""Renders ``docs/alert-replays.md``: which alerts fire in replays of faults and quiet fleets, when, and for how long.

The folder ``replays`` has the results. ``tests/alerts/test_replay.py`` and the tests in ``tests/slow/alerts`` write
them after promtool has confirmed them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from alerts.pack import ALERTS
from alerts.quiet_fleets import quiet_fleets
from alerts.replay_words import duration, receivers
from alerts.values import Values

__all__ = ["replays_page"]

_FOLDER = Path(__file__).with_name("replays")

_HEAD = """\
# Alerts, replayed

`make alerts` generates this page from test results.

Coordinators and members are simulated. From their records and reports, the observer's real code computes the series
that an observer and the sidecars export. promtool evaluates the committed [rules](alerts.md) on these series, with the
default values. Scrapes are 15 s or 30 s apart, and evaluations are 30 s apart. A real Alertmanager with the documented
[routes](alerts.md#route-them) and [inhibition](alerts.md#inhibition) decides which notifications are sent.
`tests/alerts/test_replay.py` fails in each of these cases:

- an alert fires before the fault, fires twice, or fires late. Late means that its condition has been true for more than
  a minute longer than its `for`;
- an alert fires for too long: for more than a minute after the fault has ended and the alert's window and
  `keep_firing_for` have passed;
- one fault causes more than one page or ticket at the same time (one page or ticket contains all alerts of a group);
- a normal deploy, or a topic that grows, causes a page or a ticket."""

_FAULTS = """\
## One fault for each alert

*after*: time from the beginning of the fault to the alert. *lasts*: how long the alert fires. *sent*: all alerts that
are sent as a page or a ticket; alerts that fire but are not sent are in italics."""

_BAD = """\
## Two groups with repeated faults

Each fault lasts for an hour, in a group of three members and 12 partitions. *after*: time from the beginning of the
fault to the first alert. *times*: how often the alert fires. *in total*: for how long it fires, added up."""


def replays_page(values: Values) -> str:
    """Return the page; ``values`` has the alerts' severities."""
    severity = {alert.name: str(values.alerts[alert.name]["severity"]) for alert in ALERTS}
    order = {alert.name: number for number, alert in enumerate(ALERTS)}
    faults = sorted(_read("faults") + _read("long_faults"), key=lambda row: order[row["alert"]])
    parts = [_HEAD, _FAULTS, _faults(faults), _BAD]
    for row in _read("bad_groups"):
        parts += [f"**{row['what'].capitalize()}.** {receivers(row['sent'], [])}.", _fired(row["fired"], severity)]
    parts += quiet_fleets(_read("quiet_day"), _read("quiet_week"), severity)
    return "\n\n".join(parts) + "\n"


def _read(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _faults(rows: list[dict[str, Any]]) -> str:
    lines = ["| fault | alert | after | lasts | sent |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        alert = f"[`{row['alert']}`](alerts.md#{row['alert'].lower()})"
        sent = receivers(row["sent"], [row["alert"], *row["beside"]])
        lines.append(f"| {row['what']} | {alert} | {duration(row['after'])} | {duration(row['lasts'])} | {sent} |")
    return "\n".join(lines)


def _fired(fired: dict[str, list[int]], severity: dict[str, str]) -> str:
    lines = ["| alert | severity | after | times | in total |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| `{alert}` | {severity[alert]} | {duration(after)} | {times} | {duration(lasted)} |"
        for alert, (after, times, lasted) in fired.items()
    ]
    return "\n".join(lines)
