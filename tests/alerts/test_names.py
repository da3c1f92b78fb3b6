"""Names in alerts resolve: metrics and labels in the catalogue, runbooks, and commands."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from alerts.agent import BLINDING
from alerts.files import PAGE, rule_files
from alerts.inhibition import inhibit_rules
from alerts.pack import ALERTS
from alerts.rule import Board
from alerts.values import load, seconds

from rebalance_agent.cli.command_list import COMMANDS
from rebalance_agent.metrics.agent_rows import DEGRADED_MODES
from rebalance_agent.metrics.catalogue import BY_NAME
from rebalance_agent.metrics.metric import MetricType
from rebalance_agent.tracking.patterns.rollout_progress import REMEMBERED_MS
from support.charts.promtool import PROMTOOL, read_cases

ROOT = Path(__file__).parents[2]
RUNBOOKS = sorted((ROOT / "alerts" / "runbooks").glob("*.md"))
NAMES = [alert.name for alert in ALERTS]
FILES = rule_files(load())
EXPRESSIONS = [
    rule["expr"]
    for path, text in FILES.items()
    if path.parts[0] == "rules"
    for rule in yaml.safe_load(text)["groups"][0]["rules"]
]
RECORDED = [rule["record"] for rule in yaml.safe_load(FILES[Path("rules/recordings.rules.yaml")])["groups"][0]["rules"]]
SECTIONS = [
    "Meaning",
    "Impact",
    "Confirm",
    "Diagnose",
    "Fix now",
    "Prevent",
    "False positives and tuning",
]
OF_LINES = [ROOT / "docs" / f"{name}.md" for name in ("after-a-page", "high-availability")]
"""Pages whose PromQL has one expression per line, as in runbooks."""

METRIC = re.compile(r"(?<![:\w])((?:kafka_rebalance|rebalance_agent)_[a-z_]+)(?:\{([^}]*)\})?")
SCRAPED = {"cluster", "instance", "job", "le"}
"""Labels that come from the scrape or from ``cluster_name``; and a bucket's."""


def row(name):
    """The catalogue's row of a series' name, or None."""
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    found = BY_NAME.get(name) or BY_NAME.get(base)
    return found if found and (name == found.name or found.kind is MetricType.HISTOGRAM) else None


def objections(promql):
    """Metrics, labels and label values that are missing in the catalogue."""
    for name, matchers in METRIC.findall(promql):
        metric = row(name)
        if metric is None:
            yield name
            continue
        for label, operator, value in re.findall(r'(\w+)(=~?|!=|!~)"([^"]*)"', matchers):
            if label not in {*metric.labels, *SCRAPED}:
                yield f"{name}: {label}"
            elif label in metric.values:
                values = metric.values[label]
                wanted = value.split("|") if "~" in operator else [value]
                yield from (f"{name}: {label}={each}" for each in wanted if each not in values)
    for labels in re.findall(r"(?:by|on|without) \(([^)]*)\)", promql):
        named = {label for name, _ in METRIC.findall(promql) if (metric := row(name)) for label in metric.labels}
        yield from (
            label for label in filter(None, labels.split(", ")) if label not in named | SCRAPED | {"consumergroup"}
        )


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_rules_query_exported_metrics(expression):
    assert list(objections(expression)) == []


def test_a_wrong_name_is_detected():
    wrong = (
        'sum by (group) (kafka_rebalance_completed{trigger="joined"})'
        ' + kafka_rebalance_completed_total{trigger="joined", pod="x"}'
    )
    assert list(objections(wrong)) == [
        "kafka_rebalance_completed",
        "kafka_rebalance_completed_total: trigger=joined",
        "kafka_rebalance_completed_total: pod",
        "group",
    ]


@pytest.mark.parametrize("alert", NAMES)
def test_cases_contain_exported_metrics(alert):
    wrong = [each for case in read_cases()[alert] for series in case.series for each in objections(series)]
    assert wrong == []


def test_every_recording_rule_is_used_and_every_used_one_exists():
    read = {name for expression in EXPRESSIONS for name in re.findall(r"cluster_consumergroup:[\w:]+", expression)}
    assert read == set(RECORDED)


def test_every_alert_has_a_runbook_and_every_runbook_an_alert():
    assert [path.stem for path in RUNBOOKS] == sorted(NAMES)


@pytest.mark.parametrize("path", RUNBOOKS, ids=lambda path: path.stem)
def test_each_runbook_has_all_sections(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# {path.stem}\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert re.search(r"^rebalance-agent |^curl ", text, re.MULTILINE)
    assert f"`{next(alert for alert in ALERTS if alert.name == path.stem).board}`" in text


@pytest.mark.parametrize("path", RUNBOOKS, ids=lambda path: path.stem)
def test_steps_that_kafka_refuses_while_the_group_has_members_say_so(path):
    """Tried on a broker: a member with another assignor cannot join, and offsets of a group with members stay."""
    steps = path.read_text(encoding="utf-8").partition("## Fix now")[2].partition("## Prevent")[0]
    if re.search(r"(change|previous|new)\b[^.]*\bassignor", " ".join(steps.split())):
        assert "#eager-or-cooperative" in steps or "as Empty" in steps
    if "--reset-offsets" in steps:
        assert "as Empty" in steps


@pytest.mark.parametrize("path", [*RUNBOOKS, ROOT / PAGE, *OF_LINES], ids=lambda path: path.stem)
def test_names_in_pages_exist(path):
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"\b((?:KafkaGroup|RebalanceAgent)[A-Z]\w+)\b", text))
    assert named <= set(NAMES)
    assert [each for block in promql(text) for each in objections(block)] == []
    metrics = {name for name, _ in METRIC.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))}
    assert {name for name in metrics if row(name) is None} == set()
    recorded = set(re.findall(r"cluster_consumergroup:[\w:]+", text))
    assert recorded <= set(RECORDED)
    commands = set(re.findall(r"(?:^|`)rebalance-agent ([a-z]+)", text, re.MULTILINE))
    assert commands <= set(COMMANDS)
    for target in re.findall(r"\]\(([^)#\s]*)", text):
        assert not target or (path.parent / target).exists(), target


def commands_in(text):
    """The ``rebalance-agent`` commands of a page's shell blocks, without the program's name."""
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("rebalance-agent "):
                yield shlex.split(line.partition("|")[0], comments=True)[1:]


@pytest.mark.parametrize("path", [*RUNBOOKS, *OF_LINES], ids=lambda path: path.stem)
def test_commands_in_pages_have_arguments_that_the_command_accepts(path):
    for command, *arguments in commands_in(path.read_text(encoding="utf-8")):
        parser = argparse.ArgumentParser()
        module = importlib.import_module(f"rebalance_agent.cli.commands.{command}")
        module.add_parser(parser.add_subparsers())
        parser.parse_args([command, *arguments])


@pytest.mark.parametrize("line", ["explain GROUP --first 20", "watch --twice GROUP"])
def test_a_wrong_argument_is_detected(line):
    parser = argparse.ArgumentParser()
    command = line.partition(" ")[0]
    importlib.import_module(f"rebalance_agent.cli.commands.{command}").add_parser(parser.add_subparsers())
    with pytest.raises(SystemExit):
        parser.parse_args(shlex.split(line))


def test_queries_in_runbooks_do_not_depend_on_the_window_of_another_alert():
    """Recorded series are named after windows that users change, so only alerts on such a window may query one."""
    read = {path.stem for path in RUNBOOKS if "cluster_consumergroup:" in path.read_text(encoding="utf-8")}
    assert all(name.startswith("KafkaGroupStallBudgetBurn") for name in read)


def promql(text):
    """The page's PromQL: one expression per line in runbooks, one of several lines in the reference."""
    return re.findall(r"```promql\n(.*?)```", text, re.DOTALL)


@pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found")
def test_the_promql_of_runbooks_is_valid(tmp_path):
    lines = [
        line
        for path in [*RUNBOOKS, *OF_LINES]
        for block in promql(path.read_text(encoding="utf-8"))
        for line in block.splitlines()
    ]
    asked = [{"record": f"line{number}", "expr": line} for number, line in enumerate(lines)]
    rules = tmp_path / "asked.yaml"
    rules.write_text(yaml.safe_dump({"groups": [{"name": "asked", "rules": asked}]}))
    done = subprocess.run([PROMTOOL, "check", "rules", str(rules)], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines) > 50


def test_linked_boards_exist_and_have_the_links_variables():
    boards = [json.loads(path.read_text()) for path in (ROOT / "dashboards" / "json").glob("*.json")]
    variables = {board["uid"]: {each["name"] for each in board["templating"]["list"]} for board in boards}
    for alert in ALERTS:
        set_by_link = set() if alert.board is Board.AGENT else {"cluster", "consumergroup"}
        assert set_by_link <= variables[alert.board]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_instructions_contain_no_names_from_clients(alert):
    assert re.fullmatch(r"[^${}]+\.", alert.todo), "any client chooses the names in it, and people paste commands"
    assert set(re.findall(r"rebalance-agent ([a-z]+)", alert.todo)) <= set(COMMANDS)


def test_blinding_modes_exist():
    assert set(BLINDING) <= set(DEGRADED_MODES)


def matches(labels, matchers):
    """Whether an alert has the labels that Alertmanager's matchers ask for."""
    for matcher in matchers:
        label, operator, value = re.fullmatch(r'(\w+)(=~?)"(.*)"', matcher).groups()
        pattern = value if operator == "=~" else re.escape(value)
        if not re.fullmatch(pattern, labels.get(label, "")):
            return False
    return True


def silenced(target, source):
    """Whether ``source`` inhibits ``target``."""
    return any(
        matches(source, rule["source_matchers"])
        and matches(target, rule["target_matchers"])
        and all(source.get(label, "") == target.get(label, "") for label in rule["equal"])
        for rule in inhibit_rules()
    )


def alert(name, group="orders", cluster="prod"):
    """An alert's labels as Alertmanager gets them."""
    labels = {"alertname": name, "severity": str(load().alerts[name]["severity"]), "cluster": cluster}
    return labels if name.startswith("RebalanceAgent") else labels | {"consumergroup": group}


def test_an_agent_that_is_down_inhibits_all_others_of_its_cluster_and_not_itself():
    down = alert("RebalanceAgentDown")
    assert [name for name in NAMES if not silenced(alert(name), down)] == ["RebalanceAgentDown"]
    assert not any(silenced(alert(name, cluster="test"), down) for name in NAMES)


def test_critical_alerts_inhibit_only_others_of_their_group():
    stuck = alert("KafkaGroupRebalanceStuck")
    groups = [name for name in NAMES if name.startswith("KafkaGroup")]
    loud = [name for name in groups if not silenced(alert(name), stuck)]
    assert loud == [name for name in groups if load().alerts[name]["severity"] == "critical"]
    assert not any(silenced(alert(name, group="payments"), stuck) for name in groups)


def test_a_deploy_inhibits_only_storms_for_their_window():
    rollout = alert("KafkaGroupRolloutInProgress")
    quiet = {name for name in NAMES if silenced(alert(name), rollout)}
    assert quiet == {"KafkaGroupRebalanceStorm"}
    assert seconds(load().alerts["KafkaGroupRebalanceStorm"]["window"]) == REMEMBERED_MS / 1000
