"""``docs/metrics.md``, written from the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.metrics.catalogue import CATALOGUE
from rebalance_agent.metrics.group_metric import FOLDED, SeriesLimits
from rebalance_agent.metrics.group_rows import GROUP_SERIES_MAX
from rebalance_agent.metrics.lag_rows import GROUP_LAG_SERIES
from rebalance_agent.metrics.metric import ExporterRole, Metric
from rebalance_agent.runtime.settings.roles import ObserverSettings

__all__ = ["metrics_page"]

_ROLES = {
    ExporterRole.OBSERVER: """\
## Observer: facts of groups

What the coordinator recorded of each group. Gauges aggregate with `max by`, counters with
`sum by (consumergroup) (increase(...))`. What a source cannot know is absent, never 0: where the offsets topic may not
be read (`source="admin"`), nothing is said that polls cannot know.
""",
    ExporterRole.SIDECAR: """\
## Sidecar: what one process saw of itself

From the events that consumers post to the sidecar beside them. They add up with `sum`.
""",
    ExporterRole.GATEWAY: """\
## Gateway: what goes through it

Of the connections between its clients and the brokers. A gateway exports the sidecar's metrics as well.
""",
    ExporterRole.AGENT: """\
## The agent itself

Is the watcher well, and does it see everything. Each role exports those that concern it.
""",
}

LAG_TOPICS = ObserverSettings.model_fields["max_lag_topics"].default

_HEAD = f"""\
# Metrics

Written from the catalogue in `rebalance_agent.metrics` by `make docs`; change it there.

Every role serves `/metrics` on port 29308. Labels are spelt as kafka_exporter spells them, so lag joins without
relabelling. With `cluster_name` set every metric also has the label `cluster`. Counters of a group start at 0 when the
group is first seen and go when it goes.

A group has at most {GROUP_SERIES_MAX} series, half of them closed sets: a trigger each, a state each, a bucket each. \
Members add theirs: `owner_*` for at most \
{SeriesLimits().max_member_series} pairs of client id and host (members with
equal labels fold into their maximum and their number; pairs beyond it into `client_id="{FOLDED}"`), one
`slowest_member`, and the exact histogram of stalls where they report. Groups that `lag_groups` or `copartitioned` name
have up to three more, and so have those of which the [pipeline](pipeline-tables.md#baselines) knows what is normal.

[Consumer lag](observe.md#consumer-lag) of the groups that `lag_groups` names is apart: {GROUP_LAG_SERIES} series per
group, and two for each of its `max_lag_topics` worst topics (default {LAG_TOPICS}) and for all its other topics
together (`topic="{FOLDED}"`): at most {GROUP_LAG_SERIES + 2 * (LAG_TOPICS + 1)} per group.
"""


def metrics_page() -> str:
    """The page: a table for each role, then the closed sets of label values and the buckets."""
    parts = [_HEAD]
    for role, text in _ROLES.items():
        parts += (text, _table(metric for metric in CATALOGUE if metric.role is role))
    parts.append(f"## Label values\n\nThese labels have no other values.\n\n{_values()}")
    parts.append(f"## Buckets\n\nUpper bounds in seconds.\n\n{_buckets()}")
    return "\n".join(parts)


def _table(metrics: Iterable[Metric]) -> str:
    rows = [
        (f"`{metric.name}`", metric.kind, ", ".join(f"`{label}`" for label in metric.labels), metric.unit, metric.help)
        for metric in metrics
    ]
    return _markdown(("metric", "type", "labels", "unit", "what"), rows)


def _values() -> str:
    rows = [
        (f"`{metric.name}`", f"`{label}`", ", ".join(f"`{value}`" for value in values))
        for metric in CATALOGUE
        for label, values in metric.values.items()
    ]
    return _markdown(("metric", "label", "values"), rows)


def _buckets() -> str:
    rows = [
        (f"`{metric.name}`", ", ".join(f"{bound:g}" for bound in metric.buckets))
        for metric in CATALOGUE
        if metric.buckets
    ]
    return _markdown(("metric", "buckets"), rows)


def _markdown(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
