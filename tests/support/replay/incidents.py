"""Alertmanager's notifications for alerts that fire together, with the documented routes and inhibition rules."""

from __future__ import annotations

from collections import defaultdict

from support.charts.alertmanager import Alertmanager, documented
from support.observer.observing import eventually

__all__ = ["notified", "sent_together"]


def moments(spans):
    """The alerts that fire together, one set for each change."""
    times = sorted({at for span in spans for at in (span.began, span.ended + 1)})
    together = (frozenset(span for span in spans if span.began <= at <= span.ended) for at in times)
    return [each for each in dict.fromkeys(together) if each]


def notified(incidents, folder):
    """Incident -> the notifications at each of its times: (receiver, group) -> the alerts that are not inhibited.

    ``incidents``: name -> spans. Each time is a separate cluster, because clusters do not inhibit each other.
    """
    sets = {f"{name}/{n}": each for name, spans in incidents.items() for n, each in enumerate(moments(spans))}
    firing = [
        {**dict(span.labels), "alertname": span.alert, "cluster": cluster}
        for cluster, each in sets.items()
        for span in each
    ]
    with Alertmanager(documented(folder), folder) as server:
        server.send(*firing)
        eventually(lambda: len(server.reported()) == len(firing))
        reported = server.reported()
    sent = {cluster: defaultdict(set) for cluster in sets}
    for each in reported:
        labels = each["labels"]
        if not each["status"]["inhibitedBy"]:
            for receiver in each["receivers"]:
                sent[labels["cluster"]][receiver["name"], labels.get("consumergroup", "")].add(labels["alertname"])
    found = defaultdict(list)
    for cluster, each in sent.items():
        found[cluster.rpartition("/")[0]].append(dict(each))
    return found


def sent_together(sent):
    """Incident -> one of its times with several pages and tickets; without those that never have more than one."""
    return {
        name: moment
        for name, moments in sent.items()
        for moment in moments
        if sum(receiver != "nobody" for receiver, _ in moment) > 1
    }
