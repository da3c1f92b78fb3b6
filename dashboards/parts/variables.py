"""Defines the variables of boards; each variable depends on the previous variables."""

from __future__ import annotations

from dashboards.parts.board import Variable

__all__ = ["ACROSS", "cluster", "groups_like", "instance", "job", "one_group", "some_groups", "some_members"]

ACROSS = Variable(
    "across",
    "Observers",
    "How counts of several observers are combined. Replicas share the groups, so their counts are added up. "
    "Independent observers count the same events, so the maximum is used. With one observer, the result is the same.",
    choices=(("share the groups", "sum"), ("each observes all", "max")),
)


def cluster(metric: str) -> Variable:
    """Return Kafka clusters by ``cluster_name``; All if no name is set."""
    return Variable(
        "cluster",
        "Cluster",
        "The Kafka cluster, if agents have a cluster_name; All otherwise.",
        f"label_values({metric}, cluster)",
        all_value=".*",
        multi=True,
    )


def job(metric: str, whose: str) -> Variable:
    """Return Prometheus' scrape jobs that export the metric."""
    return Variable(
        "job",
        "Job",
        f"The scrape job of the {whose}.",
        f'label_values({metric}{{cluster=~"$cluster"}}, job)',
        all_value=".+",
        multi=True,
    )


def instance(metric: str) -> Variable:
    """Return the instances of these jobs; hidden, because the boards show groups, not observers."""
    return Variable(
        "instance",
        "Instance",
        "One process of the job.",
        f'label_values({metric}{{cluster=~"$cluster", job=~"$job"}}, instance)',
        all_value=".+",
        multi=True,
        hidden=True,
    )


def some_groups(metric: str) -> Variable:
    """Return a choice of any number of groups; initially all."""
    return Variable(
        "consumergroup",
        "Group",
        "Only these consumer groups.",
        f'label_values({metric}{{cluster=~"$cluster", job=~"$job"}}, consumergroup)',
        all_value=".+",
        multi=True,
    )


def groups_like(pattern: str) -> Variable:
    """Return a text field for a regular expression that matches group names; initially ``pattern``."""
    return Variable(
        "consumergroup",
        "Groups",
        "The service's consumer groups: a regular expression for whole names, for example orders-.*|payments",
        text=pattern,
    )


def one_group(metric: str, ranking: str) -> Variable:
    """Return a choice of one group; the group whose counter ``ranking`` increased the most comes first."""
    selected = '{cluster=~"$cluster", job=~"$job"}'
    return Variable(
        "consumergroup",
        "Group",
        "The consumer group; groups with the most stalled partition-seconds come first.",
        f"query_result(sort_desc(sum by (consumergroup) (increase({ranking}{selected}[$__range])) "
        f"or 0 * max by (consumergroup) ({metric}{selected})))",
        r'/^\{consumergroup="(.*)"\} /',
    )


def some_members(metric: str) -> Variable:
    """Return a choice of any number of members of these groups; initially all. Some metrics have no label for it."""
    return Variable(
        "client_id",
        "Member",
        "Only these members, by client id. Histograms have no label for the member; they cover the processes that "
        "report these members.",
        f'label_values({metric}{{cluster=~"$cluster", job=~"$job", consumergroup=~"$consumergroup"}}, client_id)',
        all_value=".*",
        multi=True,
    )
