"""The variables that boards share, each narrowed by those before it."""

from __future__ import annotations

from dashboards.board import Variable

__all__ = ["ACROSS", "cluster", "instance", "job", "one_group", "some_groups", "some_members"]

ACROSS = Variable(
    "across",
    "Observers",
    "What several observers count of a group: replicas share the groups, so their counts add up; independent observers "
    "count the same, so the highest is taken. With one observer both are the same.",
    choices=(("share the groups", "sum"), ("each sees all", "max")),
)


def cluster(metric: str) -> Variable:
    """Kafka clusters by ``cluster_name``; All where it is not set."""
    return Variable(
        "cluster",
        "Cluster",
        "The Kafka cluster, where agents have a cluster_name; All otherwise.",
        f"label_values({metric}, cluster)",
        all_value=".*",
        multi=True,
    )


def job(metric: str, whose: str) -> Variable:
    """Prometheus' scrape jobs that export the metric."""
    return Variable(
        "job",
        "Job",
        f"The scrape job of the {whose}.",
        f'label_values({metric}{{cluster=~"$cluster"}}, job)',
        all_value=".+",
        multi=True,
    )


def instance(metric: str) -> Variable:
    """The processes of these jobs: hidden, since the boards speak of groups, not of who watches them."""
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
    """Any number of groups, all at first."""
    return Variable(
        "consumergroup",
        "Group",
        "Only these consumer groups.",
        f'label_values({metric}{{cluster=~"$cluster", job=~"$job"}}, consumergroup)',
        all_value=".+",
        multi=True,
    )


def one_group(metric: str) -> Variable:
    """The group that the board is about."""
    return Variable(
        "consumergroup",
        "Group",
        "The consumer group.",
        f'label_values({metric}{{cluster=~"$cluster", job=~"$job"}}, consumergroup)',
    )


def some_members(metric: str) -> Variable:
    """Any number of members of these groups, all at first. Not every metric tells members apart."""
    return Variable(
        "client_id",
        "Member",
        "Only these members, by their client ids, on panels that tell members apart; the others show whole groups.",
        f'label_values({metric}{{cluster=~"$cluster", job=~"$job", consumergroup=~"$consumergroup"}}, client_id)',
        all_value=".*",
        multi=True,
    )
