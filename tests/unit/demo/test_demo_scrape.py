from __future__ import annotations

import pytest

from rebalance_agent.demo.observed.scrape import GroupNow, read_groups

TEXT = """\
# TYPE kafka_rebalance_group_state gauge
kafka_rebalance_group_state{consumergroup="g",state="Stable"} 1
kafka_rebalance_group_state{consumergroup="g",state="Empty"} 0
# TYPE kafka_rebalance_group_info gauge
kafka_rebalance_group_info{consumergroup="g",group_type="classic",assignor="range",source="records"} 1
# TYPE kafka_rebalance_generation gauge
kafka_rebalance_generation{consumergroup="g"} 7
# TYPE kafka_rebalance_members gauge
kafka_rebalance_members{consumergroup="g"} 2
# TYPE kafka_rebalance_idle_members gauge
kafka_rebalance_idle_members{consumergroup="g"} 1
# TYPE kafka_rebalance_assignment_skew_ratio gauge
kafka_rebalance_assignment_skew_ratio{consumergroup="g",weight="partitions"} 1.5
kafka_rebalance_assignment_skew_ratio{consumergroup="g",weight="lag"} 9
# TYPE kafka_rebalance_in_progress_seconds gauge
kafka_rebalance_in_progress_seconds{consumergroup="g"} 0
# TYPE kafka_rebalance_completed_total counter
kafka_rebalance_completed_total{consumergroup="g",trigger="member_joined"} 2
kafka_rebalance_completed_total{consumergroup="g",trigger="group_started"} 1
# TYPE kafka_rebalance_partitions_moved_total counter
kafka_rebalance_partitions_moved_total{consumergroup="g"} 5
# TYPE kafka_rebalance_owner_partitions gauge
kafka_rebalance_owner_partitions{consumergroup="g",client_id="one",host="127.0.0.1"} 3
# TYPE kafka_rebalance_new_in_some_later_version gauge
kafka_rebalance_new_in_some_later_version{consumergroup="g"} 3
# TYPE kafka_consumergroup_lag gauge
kafka_consumergroup_lag{consumergroup="other"} 3
"""


def test_a_group_is_read_from_its_series():
    assert read_groups(TEXT) == {
        "g": GroupNow(
            state="Stable",
            group_type="classic",
            assignor="range",
            source="records",
            generation=7,
            members=2,
            idle_members=1,
            skew=1.5,
            rebalancing_seconds=0.0,
            completed=3,
            moved=5,
            owned={"one": 3},
        )
    }


def test_what_the_observer_does_not_say_is_none():
    (group,) = read_groups('kafka_rebalance_members{consumergroup="g"} 2\n').values()
    assert group.generation is None
    assert group.skew is None
    assert not group.stable


def test_a_running_rebalance_is_not_stable():
    text = TEXT.replace('in_progress_seconds{consumergroup="g"} 0', 'in_progress_seconds{consumergroup="g"} 0.2')
    assert read_groups(TEXT)["g"].stable
    assert not read_groups(text)["g"].stable


def test_text_that_is_no_exposition_is_a_value_error():
    with pytest.raises(ValueError, match="<html>"):
        read_groups("<html>not found</html>\n")
