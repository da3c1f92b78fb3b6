"""A real Alertmanager accepts the documented configuration and our inhibition rules, and behaves as documented."""

from __future__ import annotations

import subprocess

import pytest
import yaml
from alerts.pack import ALERTS
from alerts.values import load

from support.charts.alertmanager import AMTOOL, Alertmanager, documented, needs_alertmanager
from support.observer.observing import eventually

pytestmark = needs_alertmanager

SEVERITY = {name: values["severity"] for name, values in load().alerts.items()}
OF_GROUPS = [alert.name for alert in ALERTS if alert.name.startswith("KafkaGroup")]


@pytest.fixture(scope="module")
def configuration(tmp_path_factory):
    return documented(tmp_path_factory.mktemp("alertmanager"))


@pytest.fixture
def alertmanager(configuration, tmp_path):
    with Alertmanager(configuration, tmp_path) as server:
        yield server


def amtool(*arguments):
    done = subprocess.run([AMTOOL, *arguments], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def alert(name, group="orders", cluster="prod", **more):
    """An alert's labels as Prometheus sends them; None: without that label."""
    given = {"alertname": name, "severity": SEVERITY[name], "consumergroup": group, "cluster": cluster, **more}
    return {key: value for key, value in given.items() if value}


def down(cluster="prod"):
    return alert("RebalanceAgentDown", None, cluster)


def silent(alertmanager, *firing):
    """The inhibited alerts among all given ones, by name and, if present, group."""
    alertmanager.send(*firing)
    eventually(lambda: len(alertmanager.reported()) == len(firing))
    return {
        ":".join(filter(None, (each["labels"]["alertname"], each["labels"].get("consumergroup"))))
        for each in alertmanager.reported()
        if each["status"]["inhibitedBy"]
    }


def test_the_configuration_is_valid(configuration):
    said = amtool("check-config", str(configuration))
    assert "SUCCESS" in said
    assert f"{len(yaml.safe_load(configuration.read_text())['inhibit_rules'])} inhibit rules" in said
    assert "3 receivers" in said


@pytest.mark.parametrize("name", SEVERITY)
def test_each_alert_is_routed_by_its_severity(configuration, name):
    labels = [f"{key}={value}" for key, value in alert(name).items()]
    receiver = amtool("config", "routes", "test", f"--config.file={configuration}", *labels).strip()
    assert receiver == {"critical": "pager", "warning": "tickets", "info": "nobody"}[SEVERITY[name]]


def test_an_agent_that_is_down_inhibits_all_other_alerts_of_its_cluster(alertmanager):
    others = [alert(name, "orders" if name in OF_GROUPS else None) for name in SEVERITY if name != "RebalanceAgentDown"]
    elsewhere = [alert("KafkaGroupRebalanceStuck", cluster="test"), alert("RebalanceAgentBlind", None, "test")]
    found = silent(alertmanager, down(), *others, *elsewhere)
    assert found == {f"{name}:orders" if name in OF_GROUPS else name for name in SEVERITY} - {"RebalanceAgentDown"}
    active = [each["labels"] for each in alertmanager.reported() if each["status"]["state"] == "active"]
    assert {(each["alertname"], each["cluster"]) for each in active} == {
        ("RebalanceAgentDown", "prod"),
        ("KafkaGroupRebalanceStuck", "test"),
        ("RebalanceAgentBlind", "test"),
    }


def test_an_agent_that_is_down_inhibits_all_other_alerts_also_without_a_cluster_name(alertmanager):
    assert silent(alertmanager, down(None), alert("KafkaGroupRebalanceStuck", cluster=None)) == {
        "KafkaGroupRebalanceStuck:orders"
    }


def test_a_critical_alert_inhibits_lower_ones_of_its_group(alertmanager):
    stuck = alert("KafkaGroupRebalanceStuck")
    lesser = [alert("KafkaGroupRebalanceSlow"), alert("KafkaGroupIdleMembers"), alert("RebalanceAgentBlind", None)]
    elsewhere = [alert("KafkaGroupRebalanceSlow", "payments"), alert("KafkaGroupRebalanceSlow", "third", "test")]
    also_critical = alert("KafkaGroupPartitionsUnassigned")
    assert silent(alertmanager, stuck, also_critical, *lesser, *elsewhere) == {
        "KafkaGroupRebalanceSlow:orders",
        "KafkaGroupIdleMembers:orders",
    }


@pytest.mark.parametrize(
    ("source", "targets"),
    [
        ("KafkaGroupRolloutInProgress", {"KafkaGroupRebalanceStorm"}),
        ("KafkaGroupStalled", {"KafkaGroupRebalanceSlow"}),
        ("KafkaGroupStallBudgetBurnMedium", {"KafkaGroupStallBudgetBurnSlow"}),
        ("KafkaGroupTopicsOnOneHost", {"KafkaGroupTopicClustered"}),
        ("KafkaGroupAssignmentSkewed", {"KafkaGroupAssignmentImbalanced"}),
        ("KafkaGroupRebalanceSlow", set()),
    ],
)
def test_lower_alerts_inhibit_only_their_own_consequences(alertmanager, source, targets):
    lesser = [name for name in OF_GROUPS if SEVERITY[name] != "critical" and name != source]
    asked = [alert(source), *map(alert, lesser)]
    others = {
        "KafkaGroupRolloutInProgress",
        "KafkaGroupStalled",
        "KafkaGroupStallBudgetBurnMedium",
        "KafkaGroupTopicsOnOneHost",
        "KafkaGroupAssignmentSkewed",
    } - {source}
    fire = [each for each in asked if each["alertname"] not in others]
    fire += [alert(name, "payments") for name in targets]
    assert silent(alertmanager, *fire) == {f"{name}:orders" for name in targets}
