"""The example package in ``examples/rendezvous``: built and installed, its tests pass, and every command knows it."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from rebalance_agent.model.event_json import json_line
from support.assignors.plugin_site import EXAMPLE, ROOT, command, declare, install, run
from support.tracker.histories import clustered

GROUP = {
    "topics": {"t": {"partitions": 8}},
    "members": [{"id": name, "instance_id": name, "topics": ["t"]} for name in "ab"],
    "config": {"assignment.rendezvous.slack.percent": 0},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The installed example, and a package with unusable strategies."""
    folder = install(tmp_path_factory.mktemp("site"))
    return declare(folder, "careless", "2.0", broken="no_such_module:STRATEGY", sticky="rendezvous_strategy:RENDEZVOUS")


def test_the_examples_tests_pass_after_its_installation(site):
    ended = run(site, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests"))
    assert ended.returncode == 0, ended.stdout
    assert re.search(r"^\d+ passed", ended.stdout, re.MULTILINE)


def test_strategies_lists_it_with_its_package_and_unusable_ones_with_the_reason(site):
    ended = command(site, "strategies")
    assert (ended.returncode, ended.stderr) == (0, "")
    text = " ".join(ended.stdout.split())
    assert (
        "rendezvous (eager; cooperative: cooperative-rendezvous) from rendezvous-strategy 1.0.0 static members get the "
        "same" in text
    )
    assert "assignment.rendezvous.slack.percent (default 25; for the whole group)" in text
    assert "cooperative-rendezvous (cooperative) from rendezvous-strategy 1.0.0" in text
    assert "broken (cannot be used) from careless 2.0 no_such_module:STRATEGY: ModuleNotFoundError: No module" in text
    assert "sticky (cannot be used) from kafka-rebalance-agent itself and careless 2.0 several packages" in text
    assert "sticky (eager; cooperative: cooperative-sticky) the best balance" in text
    listed = {
        (each["name"], each["package"]): each for each in json.loads(command(site, "strategies", "--json").stdout)
    }
    assert listed["rendezvous", "rendezvous-strategy 1.0.0"]["problem"] is None
    assert listed["broken", "careless 2.0"]["problem"].startswith("no_such_module:STRATEGY: ModuleNotFoundError")
    assert listed["range", "kafka-rebalance-agent"]["protocol"] == "eager"


@pytest.mark.parametrize("arguments", [["rendezvous"], ["rendezvous", "--protocol", "cooperative"]])
def test_assign_uses_it_and_reads_its_settings(site, arguments):
    ended = command(site, "assign", "--strategy", *arguments, "-", stdin=json.dumps(GROUP))
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert [len(topics["t"]) for topics in result["assignment"].values()] == [4, 4]
    assert result["quality"]["skew_ratio"] == 1.0


def test_assign_refuses_an_unusable_strategy_with_a_remedy(site):
    ended = command(site, "assign", "--strategy", "broken", "-", stdin=json.dumps(GROUP))
    assert ended.returncode == 2
    assert "strategy 'broken' of careless 2.0 cannot be used: no_such_module:STRATEGY: " in ended.stderr
    assert "repair or uninstall the package" in ended.stderr


def test_whatif_replays_it_like_ours_and_names_unusable_ones(site, tmp_path):
    events = tmp_path / "events.ndjson"
    events.write_bytes(b"\n".join(map(json_line, clustered(8))) + b"\n")
    ended = command(site, "whatif", "g", "--events", str(events), "--json")
    assert ended.returncode == 0, ended.stderr
    found = {each["strategy"]: each for each in json.loads(ended.stdout)["strategies"]}
    assert found["rendezvous"]["refused"] is None
    assert found["rendezvous"]["rebalances"] == found["range"]["rebalances"] > 0
    assert found["cooperative-rendezvous"]["moved"] == found["rendezvous"]["moved"]
    assert "whatif: strategy 'broken' of careless 2.0 cannot be used" in ended.stderr


def test_a_gateway_accepts_it_by_name_and_refuses_an_unusable_one(site):
    code = "from rebalance_agent.gateway.group_rules import parse_rules; import sys; print(*parse_rules(sys.argv[1]))"
    rule = "orders=rendezvous,assignment.rendezvous.slack.percent=10"
    assert run(site, "-c", code, rule).stdout == f"{rule}\n"
    assert "gateway_groups: rule 'a=broken': strategy 'broken' of careless" in run(site, "-c", code, "a=broken").stderr


@pytest.mark.parametrize(
    "rules", ["orders=rendezvous,assignment.rendezvous.slack.percent=10", "a=Own_2.x-y,assignment.Own_2.x-y.k=v; b=c"]
)
def test_the_annotation_of_a_pod_accepts_its_gateways_rules(rules):
    keys = yaml.safe_load((ROOT / "helm" / "rebalance-agent" / "files" / "injection.yaml").read_text())
    assert re.fullmatch(keys["gateway-groups"]["form"], rules)


def test_it_is_not_imported_before_it_is_requested(site):
    code = "import sys, rebalance_agent.assignors as a; a.strategy('range'); a.find_strategy('stream'); "
    code += "print('rendezvous_strategy' in sys.modules); a.find_strategy('rendezvous'); "
    code += "print('rendezvous_strategy' in sys.modules)"
    assert run(site, "-c", code).stdout.split() == ["False", "True"]
    code = "import sys, rebalance_agent.assignors; print('importlib.metadata' in sys.modules)"
    assert run(site, "-S", "-c", code).stdout.split() == ["False"]


def test_the_page_shows_the_current_package():
    page = (ROOT / "docs" / "own-strategy.md").read_text(encoding="utf-8")
    for path in ("pyproject.toml", "src/rendezvous_strategy/__init__.py"):
        text = (EXAMPLE / path).read_text(encoding="utf-8")
        for block in re.findall(rf"<!-- {re.escape(path)} -->\n```\w+\n(.*?)```", page, re.DOTALL):
            assert block in text
    assert page.count("<!-- ") == 2
