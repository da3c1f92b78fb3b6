"""A group's past cannot be read if the login may not describe the offsets topic."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rebalance_agent.cli import main
from rebalance_agent.clock import FakeClock
from rebalance_agent.cluster.access import Existence, TopicAccess
from rebalance_agent.errors import AccessDeniedError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.runtime.watch import history_reader
from rebalance_agent.runtime.watch.history_reader import GroupPast, read_past

TEXT = "__consumer_offsets is hidden: this login is not allowed to describe the topic"


@pytest.fixture
def existence(monkeypatch):
    """Sets whether the cluster, which lists no topics, has the offsets topic."""

    def set_to(value):
        access = SimpleNamespace(topics=lambda names: dict.fromkeys(names, TopicAccess(value)))
        cluster = SimpleNamespace(identify=lambda: ("c", {}), access=access)
        monkeypatch.setattr(history_reader, "Cluster", lambda _properties: cluster)

    return set_to


def test_a_hidden_offsets_topic_is_an_error_and_a_missing_one_is_not(existence):
    existence(Existence.HIDDEN)
    with pytest.raises(AccessDeniedError, match=f"^{TEXT}$"):
        read_past({}, "rebalance-events", "orders", FakeClock())
    existence(Existence.ABSENT)
    past = read_past({}, "rebalance-events", "orders", FakeClock())
    assert past == GroupPast((), f"{OFFSETS_TOPIC}, which does not exist", known=False)


@pytest.mark.parametrize("command", ["explain", "whatif"])
def test_commands_print_that_the_offsets_topic_is_hidden(existence, monkeypatch, capsys, command):
    existence(Existence.HIDDEN)
    monkeypatch.setattr(f"rebalance_agent.cli.commands.{command}.quiet_logs", lambda: None)
    assert main.main([command, "orders", "--bootstrap-servers", "127.0.0.1:1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"rebalance-agent {command}: {TEXT}",
        "`rebalance-agent check` with the same settings tests servers, login and permissions",
    ]
