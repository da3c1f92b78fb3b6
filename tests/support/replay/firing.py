"""The times at which alerts fire, by promtool, if the committed rules are evaluated on given series."""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from alerts.pack import GROUPS

from support.charts.promtool import PROMTOOL
from support.replay.scraped_group import notation

__all__ = ["Span", "firing"]

RULES = sorted((Path(__file__).parents[3] / "alerts" / "rules").glob("*.rules.yaml"))
ORDER = [group.name for group in (*GROUPS[1:], GROUPS[0])]
"""Recording rules are last: in Prometheus, where rule groups have separate times, alerts may also read the previous
evaluation's values."""

ASKED = 'ALERTS{alertstate="firing"}'


@dataclass(frozen=True)
class Span:
    """An alert that fired from the first to the last of these evaluations, in seconds; ``labels``: its other labels."""

    alert: str
    labels: tuple[tuple[str, str], ...]
    began: int
    ended: int

    def __getitem__(self, label):
        """The value of a label; empty without it."""
        return dict(self.labels).get(label, "")


def firing(series, folder, *, until, scrape, evaluation, rules=RULES):
    """The spans of every alert, in the order of time.

    ``series``: name -> values by the number of the scrape, or in promtool's notation.

    promtool gets an empty expectation for each evaluation, so its errors list all firing alerts.
    """
    times = range(0, until + 1, evaluation)
    nothing = [{"expr": ASKED, "eval_time": f"{at}s", "exp_samples": []} for at in times]
    test = {
        "interval": f"{scrape}s",
        "input_series": [
            {
                "series": name,
                "values": values if isinstance(values, str) else notation(values, until // scrape + 1),
            }
            for name, values in series.items()
        ],
        "promql_expr_test": nothing,
    }
    path = folder / "replay.json"
    content = {
        "rule_files": list(map(str, rules)),
        "evaluation_interval": f"{evaluation}s",
        "group_eval_order": ORDER,
        "tests": [test],
    }
    path.write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML, and is written a hundred times faster
    done = subprocess.run([PROMTOOL or "promtool", "test", "rules", path], capture_output=True, check=False, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0 or f"expr: {json.dumps(ASKED)}" in said, said
    return sorted(_spans(_found(said), evaluation), key=lambda span: (span.began, span.alert, span.labels))


def _found(said):
    """(Alert, labels) -> the times at which it fires."""
    times = defaultdict(list)
    for at, got in re.findall(r"time: (\S+?),\n(.*?)(?=\n    expr:|\Z)", said, re.DOTALL):
        for found in re.findall(r"\{__name__=[^}]*\}", got):
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found))
            alert = labels.pop("alertname")
            del labels["__name__"], labels["alertstate"]
            times[alert, tuple(sorted(labels.items()))].append(_in_seconds(at))
    return times


def _spans(times, evaluation):
    for (alert, labels), moments in times.items():
        began = before = None
        for at in sorted(moments):
            if before is None or at > before + evaluation:
                if before is not None:
                    yield Span(alert, labels, began, before)
                began = at
            before = at
        yield Span(alert, labels, began, before)


def _in_seconds(duration):
    """The seconds of a duration such as ``1d2h30s``."""
    units = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([dhms])", duration))
