"""The rows of the tables in ``docs/alert-replays.md``, kept in ``alerts/replays``."""

from __future__ import annotations

import json
import os
from pathlib import Path

from support.replay.fault import FROM

__all__ = ["BAD_GROUPS", "checked", "fault_row", "group_row", "written"]

FOLDER = Path(__file__).parents[3] / "alerts" / "replays"

BAD_GROUPS = {
    "killed": "one of 3 members is killed every 30 s and started again; no member reports",
    "slow": "the revoked callback of one of 3 members takes 12 s, longer than the rebalance timeout of 10 s; another "
    "member restarts every 3 min; all members report",
}


def fault_row(fault, spans, sent):
    """One fault: when its alert fires (seconds since the fault's start), for how many seconds, other alerts, and
    notifications."""
    (own,) = (span for span in spans if span.alert == fault.alert)
    others = {span.alert for span in spans} - {fault.alert}
    return {
        "alert": fault.alert,
        "what": fault.what,
        "after": own.began - FROM,
        "lasts": own.ended - own.began,
        "beside": sorted(others),
        "sent": receivers(sent),
    }


def group_row(name, spans, sent):
    """A bad group, and all firing alerts."""
    return {"what": BAD_GROUPS[name], "fired": _spans_of(spans), "sent": receivers(sent)}


def _spans_of(spans):
    """Alert -> [first time in seconds since `FROM`, number of times, total seconds]."""
    found = {}
    for span in spans:
        first, times, lasted = found.get(span.alert, (span.began - FROM, 0, 0))
        found[span.alert] = [first, times + 1, lasted + span.ended - span.began]
    return found


def receivers(sent):
    """The notifications of the incident by receiver, without alerts that reach no receiver."""
    found = {}
    for moment in sent:
        for (receiver, _), alerts in moment.items():
            if receiver != "nobody":
                found.setdefault(receiver, set()).update(alerts)
    return {receiver: sorted(alerts) for receiver, alerts in sorted(found.items())}


def written(name):
    """The rows of the file; none if it does not exist."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def checked(name, rows):
    """Assert that the file has these rows; write it with ``REBALANCE_AGENT_GOLDEN=write``."""
    path = FOLDER / f"{name}.json"
    if os.environ.get("REBALANCE_AGENT_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")
    assert written(name) == rows
