"""``docs/alerts.md``, written from the alerts and their values."""

from __future__ import annotations

import re
from typing import Any

from alerts.inhibition import inhibit_rules
from alerts.pack import GROUPS
from alerts.render import rules
from alerts.rule import Alert, RuleGroup
from alerts.values import FIXED, Values

__all__ = ["alerts_page"]

_HEAD = """\
# Alerts

Written from `alerts/` by `make alerts`; change it there.

Rules for Prometheus (2.42 or newer) on what the [observer](observe.md) and [sidecars](sidecar.md) export. Every alert
has a runbook, and says with which numbers it fired. One has fired? [The first ten minutes](after-a-page.md).

## Load them

1. Copy `alerts/rules/*.rules.yaml` to Prometheus and name them in its configuration. With the Prometheus operator, put
   the `groups` of each file under the `spec` of a `PrometheusRule`.

   ```yaml
   rule_files:
     - rules/*.rules.yaml
   scrape_configs:
     - job_name: kafka-rebalance-agent
       static_configs:
         - targets: [observer:29308]
   ```

   Scrape at least once a minute: rates look back five minutes.

2. Put `alerts/alertmanager/inhibit.yaml` into Alertmanager's configuration (0.22 or newer), beside what
   [routes them](#route-them): it says [what silences what](#what-silences-what).

3. Say where the links of alerts lead ([below](#where-links-lead)): as they are shipped, they lead nowhere.

`promtool check rules rules/*.rules.yaml` says whether Prometheus will take them. The ratios over six hours and three
days cost it most: with thousands of groups set `shared.interval` to `1m`.

## Route them

`critical` wakes somebody, `warning` is a ticket, `info` is for whoever looks. One group's alerts belong together:

```yaml
route:
  receiver: tickets
  group_by: [cluster, consumergroup]
  routes:
    - matchers: [alertname="KafkaGroupRolloutInProgress"]
      receiver: nobody # it only silences others
    - matchers: [severity="critical"]
      receiver: pager
    - matchers: [severity="info"]
      receiver: nobody
receivers:
  - name: pager # pagerduty_configs, webhook_configs ...
  - name: tickets
  - name: nobody
```

Whose group it is, the name often tells: `matchers: [consumergroup=~"orders-.*"]` leads to the team of the orders, and a
group that nobody cares for goes to `nobody` in the same way.

## Change thresholds

Every number, and why it is that one, stands in [`alerts/values.yaml`](../alerts/values.yaml). Write down what differs,
and render the rules with it, in a checkout of this repository:

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

A name that does not exist, or a text in place of a number, is refused with what there is. `--placeholders` keeps
`${ALERT.PARAMETER}` in place of values, for tools that put in their own.

With [several observers](high-availability.md) set `shared.across`: `sum` (the default) where replicas share the groups,
`max` where independent observers each watch all of them, or where two jobs of Prometheus scrape the same observer.

With several Kafka clusters under one Prometheus give the observers, sidecars and gateways of each the same
`cluster_name`: by it groups of one name are told apart, a cluster is missed that nobody watches any more, and alerts
silence only those of their own cluster.

## Where links lead

Both addresses are places to fill in: nobody but you knows where your Grafana is, and whether your people may read this
repository at night. Each alert's `dashboard_url` is `shared.dashboards` and the board's path, its `runbook_url` is
`shared.runbooks` and `ALERT.md`. Copy `alerts/runbooks/` to where that leads, or let it lead to that folder of your own
copy of the repository.

In the Helm chart both are under `monitoring.prometheusRule.shared`. Whatever else writes rules from a template starts
from what `--placeholders` writes, where the places are `${shared.dashboards}` and `${shared.runbooks}`.
"""

_LEFT_OUT = """\
## What has no alert

What nobody could act on by the number alone is on the boards only:

- Records that are read twice (`kafka_rebalance_member_reprocessed_records_total`) and commits that come too late
  (`kafka_rebalance_member_rejected_commits_total`). With at-least-once some of both come with every rebalance, and only
  the application knows how many hurt. Where any do, a rule like the one below helps.
- Skew by lag and by rate. Its best may be far above 1, where one partition has most of the load.
- One observer of several that is gone: the others see what it saw. `up` tells.

```promql
round(sum by (cluster, consumergroup) (
  increase(kafka_rebalance_member_reprocessed_records_total{consumergroup="payments"}[15m])
)) >= 100
```
"""


def alerts_page(values: Values) -> str:
    """The page: how to load, route and change them, each alert with its numbers, what has none, rules, inhibition."""
    parts = [_HEAD, f"## All alerts\n\n{_overview(values)}"]
    recordings = []
    for group in GROUPS:
        written = rules(group, values)["groups"][0]["rules"]
        recordings += [rule for rule in written if "record" in rule]
        if alerts := [rule for rule in written if "alert" in rule]:
            parts.append(f"## {_heading(group)}\n\n{group.about}")
            parts += [_alert(rule, values) for rule in alerts]
    parts.append(_LEFT_OUT)
    parts.append("## Recording rules\n\nWhat the alerts look back over; good for boards of your own, too.")
    parts += [f"`{rule['record']}`\n\n```promql\n{rule['expr']}\n```" for rule in recordings]
    parts.append(f"## What silences what\n\n{_inhibition()}")
    parts.append(f"## Values for all\n\n{_shared(values)}")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _heading(group: RuleGroup) -> str:
    return group.name.removeprefix("kafka-rebalance-").capitalize()


def _overview(values: Values) -> str:
    lines = ["| alert | severity | what |", "| --- | --- | --- |"]
    for group in GROUPS:
        for rule in group.rules:
            if isinstance(rule, Alert):
                what = _plain(rule.summary)
                lines.append(
                    f"| [`{rule.name}`](#{rule.name.lower()}) | {values.alerts[rule.name]['severity']} | {what} |"
                )
    return "\n".join(lines)


def _plain(summary: str) -> str:
    """A summary without Prometheus' braces."""
    named = {"$group": "a group", "{{ $labels.topic }}": "A topic", "{{ $labels.instance }}": "of this address"}
    for label, words in named.items():
        summary = summary.replace(label, words)
    return summary[0].upper() + summary[1:]


def _readable(description: str) -> str:
    """A description without Prometheus' braces: its label or value by name."""
    without = re.sub(r"\{\{ with .*?\{\{ end \}\}", "", description)
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
    lines = ["| while this fires | these are silent | with equal |", "| --- | --- | --- |"]
    for rule in inhibit_rules():
        source, target = (_cell(rule[key]) for key in ("source_matchers", "target_matchers"))
        lines.append(f"| {source} | {target} | {_cell(rule['equal'])} |")
    return "\n".join(lines)


def _cell(words: list[str]) -> str:
    return ", ".join(f"`{word}`".replace("|", "\\|") for word in words)


def _shared(values: Values) -> str:
    lines = [f"| `{key}` | {value} |" for key, value in values.shared.items()]
    return "\n".join(["| value | default |", "| --- | --- |", *lines])
