"""Generates ``docs/alerts.md`` from the alerts and their values."""

from __future__ import annotations

import re
from typing import Any

from alerts.inhibition import inhibit_rules
from alerts.pack import GROUPS
from alerts.render import rules
from alerts.rule import Alert, RuleGroup
from alerts.stall_times import stall_times
from alerts.values import FIXED, Values

__all__ = ["alerts_page"]

_HEAD = """\
# Alerts

`make alerts` generates this page from `alerts/`.

These are rules for Prometheus (2.42 or newer). They use the metrics of [observers](observe.md),
[sidecars](sidecar.md) and [gateways](gateway.md).
Every alert has a runbook, and the texts of most alerts contain the measured value. If an alert
has fired, start with [the first ten minutes](after-a-page.md). [Alerts, replayed](alert-replays.md) shows which alerts
fire in replays of faults and of fleets without faults, and how long after the fault they fire.

The [glossary](glossary.md) explains terms such as *lower bound*. Partitions are *certainly* stalled according to the
lower bound. The *burn rate* is the share of the time in which partitions are stalled, divided by the share that the
objective (`shared.slo`) allows.

## Load them

1. Copy `alerts/rules/*.rules.yaml` to Prometheus and add them to its configuration. With the Prometheus operator, put
   the `groups` of each file under the `spec` of a `PrometheusRule`.

   ```yaml
   rule_files:
     - rules/*.rules.yaml
   scrape_configs:
     - job_name: kafka-rebalance-agent
       static_configs:
         - targets: [observer:29308]
   ```

   Scrape at least once a minute, because the shortest windows are five minutes.

2. Add the [inhibition rules](#inhibition) of `alerts/alertmanager/inhibit.yaml` and the [routes](#route-them) to the
   configuration of Alertmanager (0.22 or newer).

3. Set the addresses for the [links in alerts](#links-in-alerts). The default addresses do not work.

`promtool check rules rules/*.rules.yaml` validates the files. The ratios over six hours and three days are the most
expensive rules: with thousands of groups, set `shared.interval` to `1m`.

## Route them

Send alerts of severity `critical` to a pager, and those of severity `warning` to a ticket queue. Do not send `info`.
Group the alerts by consumer group:

```yaml
route:
  receiver: tickets
  group_by: [cluster, consumergroup]
  routes:
    - matchers: [alertname="KafkaGroupRolloutInProgress"]
      receiver: nobody # this alert only inhibits others
    - matchers: [severity="critical"]
      receiver: pager
    - matchers: [severity="info"]
      receiver: nobody
receivers:
  - name: pager # pagerduty_configs, webhook_configs ...
  - name: tickets
  - name: nobody
```

If group names start with the name of a team or application, you can route by that prefix:
`matchers: [consumergroup=~"orders-.*"]`. Route groups that no team owns to `nobody` in the same way.

## Change thresholds

[`alerts/values.yaml`](../alerts/values.yaml) contains every threshold, with the reason for it. Write the values that
you want to change to a file. Then render the rules in a checkout of this repository, with a Python that has PyYAML (the
extra `agent` installs it):

```yaml
# mine.yaml
shared:
  slo: 0.99
  dashboards: https://grafana.internal
  runbooks: https://wiki.internal/kafka-runbooks
alerts:
  KafkaGroupRebalanceSlow: {seconds: 120, severity: info}
  KafkaGroupAssignmentSkewed: {ratio: 2, for: 1h}
```

```sh
python -m alerts --values mine.yaml --out my-rules
```

The names of recording rules contain their windows. If you change a window (marked *window* in the tables below),
also change it in the runbooks' queries. An unknown name or a value of the wrong type is an error, and the message lists
what is valid. With `--placeholders`, the
rules contain `${ALERT.PARAMETER}` instead of values, for tools that insert their own values.

With [several observers](high-availability.md), set `shared.across`: `sum` (the default) if replicas share the groups,
`max` if independent observers each observe all groups, or if two Prometheus jobs scrape the same observer.

With several Kafka clusters in one Prometheus, set a different `cluster_name` for each cluster, and the same name in all
observers, sidecars and gateways of a cluster. The label `cluster` then separates groups with the same name, limits
inhibition to one cluster, and makes `RebalanceAgentDown` fire for each cluster without an observer.

## Links in alerts

Set two addresses. `shared.dashboards` is the address of Grafana: an alert's `dashboard_url` is this address followed by
the board's path. `shared.runbooks` is the address of `alerts/runbooks/` in your copy of the repository, or of a copy of
that folder: an alert's `runbook_url` is this address followed by `ALERT.md`.

In the Helm chart, both are under `monitoring.prometheusRule.shared`. For other templates, use the output of
`--placeholders`, which contains `${shared.dashboards}` and `${shared.runbooks}`.
"""

_LEFT_OUT = """\
## Conditions without an alert

Values that need more context to interpret are only on the boards:

- Records that are read twice (`kafka_rebalance_member_reprocessed_records_total`) and commits that are rejected because
  they are too late (`kafka_rebalance_member_rejected_commits_total`). With at-least-once delivery, both occur in every
  rebalance, and the acceptable number depends on the application. If they are a problem, use a rule like the one below.
- Skew by lag and skew by rate. Partitions are indivisible, so even the best possible value can be above 1.
- A missing observer, if several observers share the groups. The other observers take over its groups, so no group is
  without data. To detect a missing observer, use `up` in a rule.

```promql
round(sum by (cluster, consumergroup) (
  increase(kafka_rebalance_member_reprocessed_records_total{consumergroup="payments"}[15m])
)) >= 100
```
"""


def alerts_page(values: Values) -> str:
    """Return the page: loading, routing, thresholds, each alert with its values, recording rules and inhibition."""
    parts = [_HEAD, f"## All alerts\n\n{_overview(values)}"]
    recordings = []
    for group in GROUPS:
        written = rules(group, values)["groups"][0]["rules"]
        recordings += [rule for rule in written if "record" in rule]
        if alerts := [rule for rule in written if "alert" in rule]:
            parts.append(f"## {_heading(group)}\n\n{group.about}")
            parts += [_alert(rule, values) for rule in alerts]
    parts.append(f"## When stalls fire alerts\n\n{stall_times()}")
    parts.append(_LEFT_OUT)
    parts.append("## Recording rules\n\nThe alerts use these series, and your own boards can use them.")
    parts += [f"`{rule['record']}`\n\n```promql\n{rule['expr']}\n```" for rule in recordings]
    parts.append(f"## Inhibition\n\n{_inhibition()}")
    parts.append(f"## Shared values\n\n{_shared(values)}")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _heading(group: RuleGroup) -> str:
    return group.name.removeprefix("kafka-rebalance-").capitalize()


def _overview(values: Values) -> str:
    lines = ["| alert | severity | meaning |", "| --- | --- | --- |"]
    for group in GROUPS:
        for rule in group.rules:
            if isinstance(rule, Alert):
                what = _plain(rule.summary)
                lines.append(
                    f"| [`{rule.name}`](#{rule.name.lower()}) | {values.alerts[rule.name]['severity']} | {what} |"
                )
    return "\n".join(lines)


def _plain(summary: str) -> str:
    """Return a summary as a title, with words instead of Prometheus' templates."""
    named = {
        "share group $group": "a share group",
        "$group": "a group",
        "{{ $labels.topic }}": "a topic",
        "Observer {{ $labels.instance }}": "an observer",
        "of job {{ $labels.job }} ": "",
    }
    for label, words in named.items():
        summary = summary.replace(label, words)
    return summary[0].upper() + summary[1:]


def _readable(description: str) -> str:
    """Return a description with the names of labels and values instead of Prometheus' templates."""
    without = re.sub(r"\{\{ with .*?\{\{ end \}\}", "", description)
    without = re.sub(r"\{\{ if [^}]*\}\}(.*?)\{\{ end \}\}", r"\1", without)
    return re.sub(r"\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}", r"*\1*", without)


def _alert(rule: dict[str, Any], values: Values) -> str:
    name = rule["alert"]
    numbers = "\n".join(_number(key, value) for key, value in values.alerts[name].items())
    return (
        f"### {name}\n\n{_readable(rule['annotations']['description'])}\n\n```promql\n{rule['expr']}\n```\n\n"
        f"| value | default |\n| --- | --- |\n{numbers}\n\n[Runbook](../alerts/runbooks/{name}.md)"
    )


def _number(key: str, value: object) -> str:
    return f"| `{key}`{' (window)' if key in FIXED else ''} | {value} |"


def _inhibition() -> str:
    lines = ["| while this alert fires | these are inhibited | if these labels are equal |", "| --- | --- | --- |"]
    for rule in inhibit_rules():
        source, target = (_cell(rule[key]) for key in ("source_matchers", "target_matchers"))
        lines.append(f"| {source} | {target} | {_cell(rule['equal'])} |")
    return "\n".join(lines)


def _cell(words: list[str]) -> str:
    return ", ".join(f"`{word}`".replace("|", "\\|") for word in words)


def _shared(values: Values) -> str:
    lines = [f"| `{key}` | {value} |" for key, value in values.shared.items()]
    return "\n".join(["| value | default |", "| --- | --- |", *lines])
