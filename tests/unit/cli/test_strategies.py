import json

import pytest

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.cli.main import main


def test_all_strategies_are_listed_with_promise_and_settings(capsys):
    assert main(["strategies"]) == 0
    blocks = capsys.readouterr().out.strip().split("\n\n")
    assert [block.split()[0] for block in blocks] == list(STRATEGIES)
    for block, each in zip(blocks, STRATEGIES.values(), strict=True):
        text = " ".join(block.split())
        assert f"({each.protocol}" in text
        assert " ".join(each.summary.split()) in text
        assert all(setting.name in text for setting in each.config)


def test_an_eager_assignor_names_its_cooperative_form(capsys):
    assert main(["strategies", "weighted-sticky", "range"]) == 0
    shown = capsys.readouterr().out
    assert "weighted-sticky  (eager; cooperative: cooperative-weighted-sticky)\n" in shown
    assert "range  (eager)\n" in shown


def test_json_has_the_same_content(capsys):
    assert main(["strategies", "--json", "weighted-sticky"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["protocol"]) == ("weighted-sticky", "eager")
    assert [(each["name"], each["default"], each["shared"]) for each in listed["settings"]] == [
        ("assignment.consumer.weight", 1, False),
        ("assignment.weight.scope", "all", True),
    ]


@pytest.mark.parametrize("arguments", [["nope"], ["range", "nope"]])
def test_an_unknown_name_is_wrong_usage_and_lists_the_known_ones(arguments, capsys):
    assert main(["strategies", *arguments]) == 2
    assert "there is no strategy 'nope'; the strategies are " in capsys.readouterr().err
