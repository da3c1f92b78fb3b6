"""Generates ``docs/metrics.md`` from the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.metrics.catalogue import CATALOGUE
from rebalance_agent.metrics.group_metric import FOLDED, SeriesLimits
from rebalance_agent.metrics.group_rows import GROUP_SERIES_MAX
from rebalance_agent.metrics.lag_rows import GROUP_LAG_SERIES
from rebalance_agent.metrics.metric import ExporterRole, Metric
from rebalance_agent.metrics.short_names import NAME_BYTES_MAX
from rebalance_agent.runtime.settings.roles import ObserverSettings

__all__ = ["metrics_page"]

_ROLES = {
    ExporterRole.OBSERVER: """\
## Observer: groups

Data from the coordinator's records of each group. Aggregate gauges with `max by`, counters with
`sum by (consumergroup) (increase(...))`. Unknown values are absent, never 0: without permission to read the offsets
topic (`source="admin"`), only metrics that polls can provide exist.
""",
    ExporterRole.SIDECAR: """\
## Sidecar: reports of consumers

Data from the events that consumers send to their sidecar, or export
[themselves](instrument-a-consumer.md#without-a-sidecar). Aggregate with `sum`. A counter or histogram is 0 in the first
scrape that contains it, and has its real value from the next scrape on, because `increase()` does not count the first
value of a new series. If several Prometheus servers scrape a sidecar, only one of them gets this 0.
""",
    ExporterRole.GATEWAY: """\
## Gateway: connections and frames

Data about the connections between clients and brokers, and what clients
[measure themselves](reference/gateway.md#what-clients-measure-themselves). A gateway also exports the sidecar's
metrics. A *newcomer* is a new consumer in a group with [seats](seats.md).
""",
    ExporterRole.AGENT: """\
## The agent itself

State of the agent's processes. Each role exports the metrics that apply to it.
""",
}

PAGE_BYTES_MAX = ObserverSettings.model_fields["max_metrics_bytes"].default
LAG_TOPICS = ObserverSettings.model_fields["max_lag_topics"].default

_HEAD = f"""\
# Metrics

`make docs` generates this page from the catalogue in `rebalance_agent.metrics`.

Every role serves `/metrics` on port 29308. Labels have the same names as in kafka_exporter, so you can join its lag
metrics without relabelling. If `cluster_name` is set, every metric also has the label `cluster`. Counters of a group
start at 0 when the group is first observed, and disappear with the group. Counters that need members' reports
(`basis="exact"`, `reason="assign_error"`, `kafka_rebalance_doubly_owned_partition_seconds_total`) appear when members
begin to report: they are 0 in the first scrape that has them, because `increase()` does not count the first value of a
new series. If several Prometheus servers scrape an observer, only one of them gets this 0. The
[glossary](glossary.md) explains terms such as *episode* and *bound*.

A group has at most {GROUP_SERIES_MAX} series. About half of them differ only in the label for the trigger, the state or
the histogram bucket. These features add series:

- **Members**: two `owner_*` series for each pair of client id and host, for at most {SeriesLimits().max_member_series}
  pairs. Members with the same client id and host share the two series: the highest number of partitions of these
  members, and the number of these members. Further pairs are combined (*folded*) into `client_id="{FOLDED}"`.
  A group also has at most five `slowest_member` series.
- **Reports of members**: the exact histogram of stalls.
- **`max_topic_series`**: the setting is a number of topics. Each of these topics has two series, and all other topics
  together have two more.
- **`lag_groups` and `copartitioned`**: up to three series for a group in these settings.
- **Baselines** from the [pipeline](pipeline-tables.md#baselines): up to three series.

These numbers do not include [consumer lag](reference/observer.md#consumer-lag). Each group in `lag_groups` adds
{GROUP_LAG_SERIES} series, two for each of its `max_lag_topics` worst topics (default {LAG_TOPICS}), and two for all its
other topics together (`topic="{FOLDED}"`): at most {GROUP_LAG_SERIES + 2 * (LAG_TOPICS + 1)} series.

In Kafka, names of groups, clients, hosts and assignors can have up to 32,767 bytes. A label value has the whole name up
to {NAME_BYTES_MAX} bytes of UTF-8 (no topic's name is longer). A longer name is shortened to its beginning, `…` and a
hash of the whole name (32 hexadecimal digits). Different names therefore have different label values, and a name has
the same label value in every process. The API and events contain the whole name. The API and the page find a group by
its whole or its shortened name. `rebalance_agent_names_shortened` counts the shortened names.

All groups together have at most `max_metrics_bytes` (default {PAGE_BYTES_MAX // 1_000_000} MB) on an observer's
`/metrics` page. Beyond this limit, the largest groups have no series, and `rebalance_agent_groups_left_out` counts
them.
"""


def metrics_page() -> str:
    """Return the page: a table for each role, then the label values and the buckets."""
    parts = [_HEAD]
    for role, text in _ROLES.items():
        parts += (text, _table(metric for metric in CATALOGUE if metric.role is role))
    parts.append(f"## Label values\n\nThese labels have only the listed values.\n\n{_values()}")
    parts.append(f"## Buckets\n\nUpper bounds in seconds.\n\n{_buckets()}")
    return "\n".join(parts)


def _table(metrics: Iterable[Metric]) -> str:
    rows = [
        (f"`{metric.name}`", metric.kind, ", ".join(f"`{label}`" for label in metric.labels), metric.unit, metric.help)
        for metric in metrics
    ]
    return _markdown(("metric", "type", "labels", "unit", "meaning"), rows)


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
