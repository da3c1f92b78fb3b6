"""An observer that can see no group is not ready, also not at first, and `check` fails."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from structlog.testing import capture_logs

from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.http.health import Readiness
from rebalance_agent.runtime.preflight import rights_checks
from rebalance_agent.runtime.preflight.findings import FindingStatus, exit_code
from rebalance_agent.runtime.preflight.findings_report import closing
from rebalance_agent.runtime.preflight.probes import ProbeResult, RightsProbe
from rebalance_agent.runtime.processes.logged_health import LoggedHealth
from rebalance_agent.runtime.processes.rights_watch import RIGHTS_PART, RightsWatch, rights_parts
from rebalance_agent.runtime.settings.rights import BLIND_MODES, agent_rights
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings
from support.rights.fake_rights import Brokers

FLEET = ObserverSettings(replicas_group="rebalance-agent")
OBSERVER = agent_rights(FLEET)


def test_an_observer_without_a_right_to_any_group_is_not_ready():
    readiness = Readiness()
    brokers = Brokers(OBSERVER)
    watch = RightsWatch(OBSERVER, brokers, LoggedHealth(readiness, lambda: None), "User:me", "a:1")
    brokers.held -= {("Topic", "__consumer_offsets", "read")}
    watch()
    assert readiness.is_ready
    brokers.held -= {("Group", "*", "describe")}
    watch()
    assert readiness.reasons()[RIGHTS_PART].startswith("no group is visible")
    brokers.held |= {("Group", "*", "describe")}
    watch()
    assert readiness.is_ready


def test_a_role_that_may_see_no_group_is_not_ready_before_the_first_probe():
    readiness = Readiness()
    health = LoggedHealth(readiness, lambda: None)
    with capture_logs() as logs:
        health.starting(("list", *rights_parts(FLEET)))
        health.ready("list")
        assert logs == []
        RightsWatch(OBSERVER, Brokers([]), health, "User:me", "a:1")()
    assert "ready" not in [each["event"] for each in logs]
    assert not readiness.is_ready
    assert rights_parts(SidecarSettings()) == rights_parts(ObserverSettings(source="describe")) == ()


def test_a_cluster_whose_rights_cannot_be_probed_becomes_ready():
    for error in (ClusterError("unsupported"), ValueError("a bug")):
        readiness = Readiness()
        health = LoggedHealth(readiness, lambda: None)
        health.starting(rights_parts(FLEET))
        brokers = Brokers(OBSERVER)
        brokers.topics = Mock(side_effect=error)
        watch = RightsWatch(OBSERVER, brokers, health, "User:me", "a:1")
        assert not readiness.is_ready
        with capture_logs():
            watch()
        assert readiness.is_ready


def test_a_failed_probe_does_not_make_a_blind_observer_ready():
    readiness, brokers = Readiness(), Brokers([])
    watch = RightsWatch(OBSERVER, brokers, LoggedHealth(readiness, lambda: None), "User:me", "a:1")
    watch()
    brokers.fails = True
    watch()
    assert not readiness.is_ready


def _checked(monkeypatch, rights):
    """The findings of ``check`` about the permissions of an observer that has these."""
    groups = SimpleNamespace(groups=())
    cluster = SimpleNamespace(
        access=Brokers(rights),
        identify=lambda: ("c", ()),
        list_groups=lambda: groups,
        broker_client=Mock(side_effect=InvalidInputError("kafka-python", "is not installed")),
    )
    monkeypatch.setattr(rights_checks, "Cluster", lambda _properties: cluster)
    monkeypatch.setattr(rights_checks, "_read", lambda *_: RightsProbe(ProbeResult.HELD))
    return list(rights_checks.rights_findings(FLEET, {"bootstrap.servers": "a:1"}, SystemClock(), 1))


def test_check_fails_for_a_principal_that_can_see_no_group(monkeypatch):
    found = _checked(monkeypatch, [])
    (blind,) = (each for each in found if each.status is FindingStatus.FAILED)
    assert blind.detail.startswith(
        "no group is visible, because Read on Topic '__consumer_offsets' and Describe on Group '*' are denied"
    )
    assert "--acl-script" in blind.fix
    assert exit_code(found) == 1
    assert "the agent runs" not in closing(found)


@pytest.mark.parametrize("mode", BLIND_MODES)
def test_check_does_not_fail_if_one_permission_shows_groups(monkeypatch, mode):
    found = _checked(monkeypatch, [right for right in OBSERVER if right.mode == mode])
    assert [each for each in found if each.status is FindingStatus.FAILED] == []
    assert exit_code(found) == 1
    assert "the agent runs without the missing permissions" in closing(found)
