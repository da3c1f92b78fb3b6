import pytest

from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.watch.in_process import InProcessWatch

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "log_level": "0"}


def test_a_cluster_that_does_not_respond_is_shown_with_the_reason_and_can_be_cancelled():
    watch = InProcessWatch(ObserverSettings(kafka=NOBODY), NOBODY)
    with watch:
        assert not watch.settled(0.5)
        for ask in (watch.groups, lambda: watch.group("g"), lambda: watch.rebalances("g")):
            with pytest.raises(ClusterError, match="the cluster: "):
                ask()
        assert "cluster: " in watch.missing()


def test_an_in_process_watch_joins_no_replicas_and_writes_no_state():
    settings = ObserverSettings(kafka=NOBODY, replicas_group="rebalance-agent-replicas", state_topic="state")
    watch = InProcessWatch(settings, NOBODY)
    assert (watch.settings.replicas_group, watch.settings.snapshots_topic) == ("", "")
    assert "ownership" not in watch.missing()
