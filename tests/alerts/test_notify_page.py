"""The configuration of docs/notify.md is accepted by Alertmanager, and routes, mutes and silences as the page says."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from alerts.values import load

from support.charts.alertmanager import AMTOOL, ROOT, Alertmanager, needs_alertmanager
from support.observer.observing import eventually

pytestmark = needs_alertmanager

PAGE = (ROOT / "docs" / "notify.md").read_text(encoding="utf-8")
INHIBITION = ROOT / "alerts" / "alertmanager" / "inhibit.yaml"
TEMPLATE = ROOT / "alerts" / "templates" / "rebalance.tmpl"
BLOCKS = re.findall(r"^```(yaml|sh)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TEAMS = "msteamsv2_configs"
TEAMS_VERSION = (0, 28)


def amtool(*arguments, code=0):
    done = subprocess.run([AMTOOL, *arguments], capture_output=True, check=False, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr + done.stdout if code else done.stdout


def version():
    done = subprocess.run([AMTOOL, "--version"], capture_output=True, check=True, text=True)
    return tuple(map(int, re.search(r"version (\d+)\.(\d+)", done.stdout + done.stderr).groups()))


PROMETHEUS, SMALL, *LARGE = [text for kind, text in BLOCKS if kind == "yaml"]


def assembled(*blocks):
    """The text of a file from these blocks of the page and our inhibition rules, appended as the page says."""
    return "".join((*blocks, INHIBITION.read_text()))


def supported(blocks):
    """The blocks; if Alertmanager is too old for Teams, its receiver is empty."""
    if version() >= TEAMS_VERSION:
        return blocks
    return ["- name: teams-orders\n" if TEAMS in block else block for block in blocks]


def documented():
    """The large configuration of the page: the routes, all receivers, and our inhibition rules."""
    return yaml.safe_load(assembled(*LARGE))


def without_teams(configuration):
    """The same for an Alertmanager that is too old for Teams."""
    receivers = [{key: receiver[key] for key in receiver if key != TEAMS} for receiver in configuration["receivers"]]
    return {**configuration, "receivers": receivers}


@pytest.fixture
def write(tmp_path):
    (tmp_path / "rebalance.tmpl").write_text(TEMPLATE.read_text())

    def write(configuration):
        path = tmp_path / "alertmanager.yml"
        path.write_text(configuration if isinstance(configuration, str) else yaml.safe_dump(configuration))
        return path

    return write


@pytest.fixture
def accepted(write):
    return write(assembled(*supported(LARGE)))


def test_the_small_configuration_is_valid_and_notifies_one_channel(write):
    small = write(assembled(SMALL))
    assert "SUCCESS" in amtool("check-config", str(small))

    def receiver(severity):
        labels = ("alertname=KafkaGroupStalled", f"severity={severity}", "consumergroup=orders-eu")
        return amtool("config", "routes", "test", f"--config.file={small}", *labels).strip()

    assert [receiver(severity) for severity in ("critical", "warning", "info")] == ["slack-platform"] * 2 + ["nobody"]


def test_a_route_without_its_receiver_is_refused_as_the_page_says(write):
    incomplete = assembled(*(block for block in supported(LARGE) if "- name: pagerduty" not in block))
    assert 'undefined receiver "pagerduty"' in amtool("check-config", str(write(incomplete)), code=1)


def test_prometheus_sends_alerts_to_the_address_of_the_page():
    (alertmanagers,) = yaml.safe_load(PROMETHEUS)["alerting"]["alertmanagers"]
    assert alertmanagers == {"static_configs": [{"targets": ["alertmanager:9093"]}]}


def test_the_configuration_is_valid_and_every_window_is_defined(accepted, write):
    assert "SUCCESS" in amtool("check-config", str(accepted))
    without_window = without_teams(documented()) | {"time_intervals": []}
    assert 'undefined time interval "broker maintenance"' in amtool("check-config", str(write(without_window)), code=1)


def test_every_receiver_for_people_sends_what_is_resolved_and_has_no_secret():
    receivers = {receiver["name"]: receiver for receiver in documented()["receivers"]}
    kinds = {kind: value for receiver in receivers.values() for kind, value in receiver.items() if kind != "name"}
    assert kinds.keys() == {"slack_configs", "pagerduty_configs", TEAMS}
    assert kinds[TEAMS][0].keys() == {"webhook_url_file", "send_resolved", "title", "text"}
    secrets = [key for value in kinds.values() for key in value[0] if re.search("url|key", key)]
    assert secrets == [key for key in secrets if key.endswith("_file")]
    assert len(secrets) == len(kinds)


@pytest.mark.parametrize(
    ("labels", "receivers"),
    [
        ("alertname=KafkaGroupStalled severity=critical consumergroup=payments-eu", "pagerduty,slack-payments"),
        ("alertname=KafkaGroupRebalanceSlow severity=warning consumergroup=orders-eu", "teams-orders"),
        ("alertname=KafkaGroupRebalanceSlow severity=warning consumergroup=billing", "slack-platform"),
        ("alertname=RebalanceAgentDown severity=critical", "pagerduty,slack-platform"),
        ("alertname=RebalanceAgentDegraded severity=warning", "slack-platform"),
        ("alertname=KafkaGroupRolloutInProgress severity=info consumergroup=orders-eu", "nobody"),
        ("alertname=KafkaGroupTopicClustered severity=info consumergroup=orders-eu", "nobody"),
    ],
)
def test_alerts_go_to_the_team_and_critical_ones_page(accepted, labels, receivers):
    found = amtool("config", "routes", "test", f"--config.file={accepted}", *labels.split()).strip()
    assert found == receivers


def test_every_route_that_notifies_has_the_window():
    def routes(route):
        yield route
        for inner in route.get("routes", ()):
            yield from routes(inner)

    notifying = [route for route in routes(documented()["route"]) if route["receiver"] != "nobody"][1:]
    assert len(notifying) == 5
    assert [route for route in notifying if route.get("mute_time_intervals") != ["broker maintenance"]] == []


def data(*alerts):
    """The data of a notification, as Alertmanager gives it to templates."""
    common = {
        key: value for key, value in alerts[0]["labels"].items() if all(a["labels"].get(key) == value for a in alerts)
    }
    return {"status": "firing", "alerts": list(alerts), "commonLabels": common, "commonAnnotations": {}}


def alert(status, **labels):
    annotations = {
        "summary": f"{labels['alertname']} now",
        "description": "It is so.",
        "runbook_url": "https://r.example/x.md",
    }
    if "consumergroup" in labels:
        annotations["dashboard_url"] = "https://g.example/d/rebalance-group"
    return {"status": status, "labels": labels, "annotations": annotations}


def rendered(tmp_path, name, given):
    (tmp_path / "data.json").write_text(json.dumps(given))
    text = f'{{{{ template "{name}" . }}}}'
    return amtool(
        "template",
        "render",
        f"--template.glob={TEMPLATE}",
        f"--template.text={text}",
        f"--template.data={tmp_path / 'data.json'}",
    ).rstrip("\n")


def test_a_notification_names_group_cause_and_links(tmp_path):
    stalled = alert("firing", alertname="A", severity="critical", consumergroup="orders", cluster="prod")
    slow = alert("resolved", alertname="B", severity="warning", consumergroup="orders", cluster="prod")
    assert rendered(tmp_path, "rebalance.title", data(stalled, slow)) == "[FIRING] orders on prod"
    assert rendered(tmp_path, "rebalance.text", data(stalled, slow)).splitlines() == [
        "*A now* (critical)",
        "It is so.",
        "<https://g.example/d/rebalance-group|Board> <https://r.example/x.md|Runbook>",
        "*B now* (warning, resolved)",
        "It is so.",
        "<https://g.example/d/rebalance-group|Board> <https://r.example/x.md|Runbook>",
    ]
    down = data(alert("firing", alertname="Down", severity="critical"))
    assert rendered(tmp_path, "rebalance.title", down) == "[FIRING] rebalance agent"
    assert rendered(tmp_path, "rebalance.markdown", down).splitlines() == [
        "**Down now** (critical)",
        "",
        "It is so.",
        "",
        "[Runbook](https://r.example/x.md)",
    ]


def commands(text):
    """The commands of a block, as argument lists."""
    return [shlex.split(line) for line in text.replace("\\\n", " ").splitlines()]


def test_the_documented_silences_silence_one_group_or_a_cluster(write, tmp_path):
    adding, planned = [text for kind, text in BLOCKS if kind == "sh" and "silence add" in text]
    severity = {name: values["severity"] for name, values in load().alerts.items()}
    sent = [
        {"alertname": name, "severity": severity[name], "consumergroup": group, "cluster": "prod"}
        for name, group in (("KafkaGroupRebalanceSlow", "orders-eu"), ("KafkaGroupRebalanceSlow", "payments-eu"))
    ]
    with Alertmanager(write(without_teams(documented())), Path(tmp_path)) as server:

        def run(command):
            return amtool(
                *(f"--alertmanager.url={server.url}" if "--alertmanager.url" in word else word for word in command[1:])
            )

        server.send(*sent)
        eventually(lambda: len(server.reported()) == len(sent))
        add, query = commands(adding)
        silence = run(add).strip()
        assert silence in run(query)
        eventually(
            lambda: (
                {each["labels"]["consumergroup"] for each in server.reported() if each["status"]["silencedBy"]}
                == {"orders-eu"}
            )
        )
        (window,) = commands(planned)
        assert run(window).strip() in amtool("--alertmanager.url", server.url, "silence", "query", "cluster=prod")
