"""Our offsets partition of a group is the one that Kafka's own classes compute."""

from __future__ import annotations

import jpype
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from support.examples import examples
from support.kafka.kafkas_java import start_java

pytestmark = pytest.mark.integration


@settings(max_examples=examples())
@given(st.text(max_size=40), st.sampled_from([1, 4, 50, 1_000]))
def test_the_partition_of_a_group_is_that_of_its_coordinator(group, partitions):
    start_java()
    utils = jpype.JClass("org.apache.kafka.common.utils.Utils")
    assert offsets_partition(group, partitions) == int(utils.abs(jpype.JString(group).hashCode())) % partitions
