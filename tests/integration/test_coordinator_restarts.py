"""What is asked of groups' coordinators goes on when these were killed and are back. Its own broker."""

from __future__ import annotations

import pytest

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import ClusterError
from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import answered, create_topic, members

pytestmark = pytest.mark.integration

BACK_S = 30
"""librdkafka 2.16 never finds the coordinator again if it is left to itself."""


def test_groups_are_described_again_once_their_killed_coordinator_is_back():
    with EmbeddedKafka() as kafka:
        create_topic(kafka.bootstrap_servers, "t", 2)
        with members(kafka.bootstrap_servers, "g", "t"):
            cluster = Cluster({"bootstrap.servers": kafka.bootstrap_servers, "log_level": "0"})
            assert answered(lambda: _described(cluster)) == ["g"]
            kafka.kill_broker(1)
            with pytest.raises(ClusterError):
                _described(cluster)
            kafka.start_broker(1)
            assert answered(lambda: _described(cluster), BACK_S) == ["g"]
            assert answered(lambda: cluster.absent_groups(["nobody"])) == {"nobody"}


def _described(cluster):
    return [each.group for each in cluster.describe_groups(["g"])]
