from __future__ import annotations

import pytest

from rebalance_agent.demo.observed.gauges import GroupGauges, read_gauges

TEXT = """\
# TYPE kafka_rebalance_group_state gauge
kafka_rebalance_group_state{consumergroup="g",state="Stable"} 1
# TYPE kafka_rebalance_generation gauge
kafka_rebalance_generation{consumergroup="g"} 7
# TYPE kafka_rebalance_members gauge
kafka_rebalance_members{consumergroup="g"} 2
# TYPE kafka_rebalance_owner_partitions gauge
kafka_rebalance_owner_partitions{consumergroup="g",client_id="one",host="127.0.0.1"} 3
kafka_rebalance_owner_partitions{consumergroup="g",client_id="two",host="127.0.0.1"} 1
# TYPE kafka_rebalance_new_in_some_later_version gauge
kafka_rebalance_new_in_some_later_version{consumergroup="g"} 3
# TYPE kafka_consumergroup_lag gauge
kafka_consumergroup_lag{consumergroup="other"} 3
"""


def test_a_group_is_read_from_its_series():
    assert read_gauges(TEXT) == {"g": GroupGauges(generation=7, members=2, owned={"one": 3, "two": 1})}


def test_a_gauge_without_a_sample_is_none():
    gauges = read_gauges('kafka_rebalance_members{consumergroup="g"} 2\n')
    assert gauges["g"].generation is None
    assert gauges["unseen"] == GroupGauges()


def test_text_in_another_format_is_a_value_error():
    with pytest.raises(ValueError, match="<html>"):
        read_gauges("<html>not found</html>\n")
