from dataclasses import replace

from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.lag_page import LagPage
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.lag_rows import GROUP_LAG_SERIES, LAG_ROWS
from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.tracking.lag.group_lag import GroupLag, StuckPartition, TopicLag
from support.observer.scrapes import families

TOPICS = (
    TopicLag("payments", 70, 6.5),
    TopicLag("orders", 20, None),
    TopicLag("audit", 9, 1.5),
    TopicLag("calm", 0, 0.0),
)
LAG = GroupLag(99, 6.5, 12.0, TOPICS, StuckPartition("orders", 3, 61.0), CatchUp(3, 6, 45.0, 150.5), has_owned=True)


def series(page):
    """Name and labels without ``consumergroup`` -> value."""
    return {
        (sample.name, sample.labels.get("topic")): sample.value
        for family in families(page.text()).values()
        for sample in family.samples
    }


def test_a_group_has_its_sums_and_its_worst_topics():
    assert series(LagPage(lambda: {"g": LAG}, 5)) == {
        ("kafka_rebalance_group_lag_offsets", None): 99,
        ("kafka_rebalance_group_lag_seconds", None): 6.5,
        ("kafka_rebalance_stuck_partition_seconds", None): 61,
        ("kafka_rebalance_catching_up_partitions", None): 3,
        ("kafka_rebalance_catch_up_seconds", None): 45,
        ("kafka_rebalance_catch_up_partition_seconds_total", None): 150.5,
        ("kafka_rebalance_topic_lag_offsets", "payments"): 70,
        ("kafka_rebalance_topic_lag_seconds", "payments"): 6.5,
        ("kafka_rebalance_topic_lag_offsets", "orders"): 20,
        ("kafka_rebalance_topic_lag_offsets", "audit"): 9,
        ("kafka_rebalance_topic_lag_seconds", "audit"): 1.5,
        ("kafka_rebalance_topic_lag_offsets", "calm"): 0,
        ("kafka_rebalance_topic_lag_seconds", "calm"): 0,
    }


def test_topics_beyond_the_bound_are_summed_up_and_counted():
    lags = {"g": LAG}
    page = LagPage(lambda: lags, 1)
    found = series(page)
    assert found["kafka_rebalance_topic_lag_offsets", "payments"] == 70
    assert found["kafka_rebalance_topic_lag_offsets", "_folded"] == 29
    assert found["kafka_rebalance_topic_lag_seconds", "_folded"] == 1.5
    assert page.folded == 3
    assert len(found) == GROUP_LAG_SERIES + 2 * (1 + 1)
    assert LagPage(lambda: lags, 0).folded == 4
    assert sum(value for (name, _), value in found.items() if "topic_lag_offsets" in name) == LAG.offsets


def test_topics_without_permission_as_labels_are_summed_up():
    found = series(LagPage(lambda: {"g": LAG}, 5, lambda topic: topic != "payments"))
    assert ("kafka_rebalance_topic_lag_offsets", "payments") not in found
    assert found["kafka_rebalance_topic_lag_offsets", "_folded"] == 70


def test_an_unknown_lag_is_absent():
    lag = GroupLag(5, None, None, (TopicLag("t", 5, None),), catch_up=CatchUp())
    of_share_group = {
        ("kafka_rebalance_group_lag_offsets", None): 5,
        ("kafka_rebalance_topic_lag_offsets", "t"): 5,
    }
    assert series(LagPage(lambda: {"g": lag}, 5)) == of_share_group | {
        ("kafka_rebalance_catching_up_partitions", None): 0,
        ("kafka_rebalance_catch_up_partition_seconds_total", None): 0,
    }
    assert series(LagPage(lambda: {"g": replace(lag, catch_up=None)}, 5)) == of_share_group
    moving = GroupLag(0, 0.0, None, (TopicLag("t", 0, 0.0),), has_owned=True)
    assert series(LagPage(lambda: {"g": moving}, 5))["kafka_rebalance_stuck_partition_seconds", None] == 0
    assert LagPage(dict, 5).text() == b""


def test_the_page_is_rendered_once_for_each_measurement():
    lags = [{"b": LAG, "a": LAG}]
    page = LagPage(lambda: lags[0], 5, text=TextFormat("prod"))
    page.refresh()
    text = page.text()
    assert text.index(b'consumergroup="a"') < text.index(b'consumergroup="b"')
    assert b'cluster="prod"' in text
    lags[0]["c"] = LAG  # the same mapping: not read again
    assert page.text() == text
    lags[0] = {"c": LAG}
    assert b'consumergroup="a"' not in page.text()
    assert families(page.text()).keys() == {row.name for row in LAG_ROWS}
    assert b"# TYPE kafka_rebalance_group_lag_offsets gauge" in page.text(Dialect.OPENMETRICS)
