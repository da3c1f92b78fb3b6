"""Exit codes and hints of ``gateway --explain`` without brokers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rebalance_agent.cli import main
from rebalance_agent.cli.commands import gateway
from rebalance_agent.errors import ClusterError

HINT = "`rebalance-agent check --role gateway` with the same settings tests servers, login and permissions\n"


@pytest.fixture
def explained(monkeypatch, capsys):
    """The exit code, the output as one line, and the errors of ``gateway --explain orders``."""
    monkeypatch.setattr(gateway, "quiet_logs", lambda: None)

    def run(describe, *arguments):
        monkeypatch.setattr(gateway, "Cluster", lambda _properties: SimpleNamespace(describe_groups=describe))
        monkeypatch.setattr(gateway, "similar_group", lambda *_: "")
        code = main.main(["gateway", "--gateway-groups", "orders=sticky", "--explain", "orders", *arguments])
        out, err = capsys.readouterr()
        return code, " ".join(out.split()), err

    return run


def test_without_a_response_of_the_brokers_the_exit_code_is_1_and_check_is_named(explained):
    def away(_groups):
        raise ClusterError("describing groups: Connection refused")

    code, out, err = explained(away, "--bootstrap-servers", "127.0.0.1:1")
    assert (code, err) == (1, HINT)
    assert "The gateway adds sticky before the client's own assignors" in out
    assert "The group's state is not known: describing groups: Connection refused" in out


def test_a_group_that_does_not_exist_has_no_hint(explained):
    code, out, err = explained(lambda _groups: [], "--bootstrap-servers", "127.0.0.1:1")
    assert (code, err) == (0, "")
    assert "The group does not exist." in out


def test_without_the_name_of_a_broker_there_is_nothing_to_check(explained):
    code, out, err = explained(None)
    assert (code, err) == (1, "")
    assert "The group's state is not known: kafka.bootstrap.servers contains no broker" in out
