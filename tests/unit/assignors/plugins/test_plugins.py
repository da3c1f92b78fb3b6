"""Strategies of other packages: discovery, time of import, and handling of unusable ones."""

from __future__ import annotations

import logging
from functools import partial

import pytest

from rebalance_agent.assignors import STRATEGIES, Setting, Strategy, known_strategies, strategy, strategy_registry
from rebalance_agent.assignors.plugins.installed_plugins import Plugins
from rebalance_agent.assignors.strategies.range import ranges
from rebalance_agent.assignors.strategies.weighted import WEIGHT
from rebalance_agent.assignors.strategy_registry import find_setting, find_strategy, package_of, unusable_plugins
from rebalance_agent.errors import AssignmentError
from rebalance_agent.model.group import RebalanceProtocol
from support.assignors.plugin_site import Entry, declared


def own(name="own", **more):
    return Strategy(name, RebalanceProtocol.EAGER, "as range", ranges, **more)


@pytest.fixture
def declare(monkeypatch):
    """Install entry points for the test."""
    return partial(declared, monkeypatch)


def problem_of(name):
    with pytest.raises(AssignmentError) as refused:
        strategy(name)
    return str(refused.value)


def test_a_declared_strategy_is_known_by_its_name_with_its_package_and_settings(declare):
    size = Setting("assignment.own.size", 1, "how large", "a number", int)
    declare(Entry("own", own(config=(size,))))
    assert strategy("own").summary == find_strategy("own").summary == "as range"
    assert list(known_strategies()) == sorted({*STRATEGIES, "own"})
    assert (package_of("own"), package_of("range")) == ("acme 1.0", "kafka-rebalance-agent")
    assert find_setting("assignment.own.size").of({"assignment.own.size": "3"}) == 3
    assert unusable_plugins() == ()


def test_a_cooperative_form_is_known_if_the_strategy_has_one(declare):
    declare(Entry("both", own("both", cooperative_form=True)), Entry("one", own("one")))
    assert strategy("cooperative-both").protocol is RebalanceProtocol.COOPERATIVE
    assert package_of("cooperative-both") == "acme 1.0"
    assert known_strategies().keys() - STRATEGIES == {"both", "cooperative-both", "one"}
    assert problem_of("cooperative-one") == "strategy 'one' of acme 1.0 has no cooperative form"


def test_a_plugin_is_imported_when_its_name_or_the_list_is_requested(declare):
    first, second = declare(Entry("first", own("first")), Entry("second", own("second")))
    strategy("sticky")
    find_strategy("range")
    find_strategy("stream")
    find_setting("assignment.consumer.weight")
    assert problem_of("nope").startswith("there is no strategy 'nope'; the strategies are cooperative-copartitioned")
    assert "failover, first, lag-aware" in problem_of("nope")
    assert (first.imports, second.imports) == (0, 0)
    strategy("second")
    assert (first.imports, second.imports) == (0, 1)
    known_strategies()
    known_strategies()
    assert (first.imports, second.imports) == (1, 1)


def test_groups_that_use_our_strategies_read_no_package_metadata(monkeypatch):
    scans = []
    monkeypatch.setattr(strategy_registry, "_PLUGINS", Plugins(STRATEGIES, lambda: scans.append(1) or ()))
    assert find_strategy("cooperative-sticky") is STRATEGIES["cooperative-sticky"]
    assert scans == []
    assert find_strategy("stream") is find_strategy("uniform") is None
    assert scans == [1]


UNUSABLE = {
    "ModuleNotFoundError: No module named 'x'": ModuleNotFoundError("No module named 'x'"),
    "SystemExit: 3": SystemExit(3),
    "must be a rebalance_agent.assignors.Strategy, not function": ranges,
    "the strategy is named 'other': its entry point needs the same name": own("other"),
    "declare the eager form": Strategy("own", RebalanceProtocol.COOPERATIVE, "as range", ranges),
    "the name of its setting 'assignment.size' must begin with 'assignment.own.'": own(
        config=(Setting("assignment.size", 1, "how large", "a number", int),)
    ),
    "its setting 'assignment.consumer.weight' must begin": own(
        config=(Setting(WEIGHT.name, 1, "how heavy", "a number", int),)
    ),
}


@pytest.mark.parametrize(("problem", "found"), UNUSABLE.items(), ids=UNUSABLE)
def test_an_unusable_plugin_is_refused_by_name_and_affects_no_other(declare, caplog, problem, found):
    declare(Entry("own", found), Entry("good", own("good")))
    text = problem_of("own")
    assert text.startswith("strategy 'own' of acme 1.0 cannot be used: acme.module:OBJECT: ")
    assert problem in text
    assert strategy("good").name == "good"
    with caplog.at_level(logging.WARNING):
        assert find_strategy("own") is find_strategy("cooperative-own") is None
        assert known_strategies().keys() - STRATEGIES == {"good"}
    assert [record.getMessage() for record in caplog.records] == [text]  # once
    assert [(each.name, each.package) for each in unusable_plugins()] == [("own", "acme 1.0")]


def test_a_failed_import_is_not_repeated(declare):
    (entry,) = declare(Entry("own", ImportError("gone")))
    find_strategy("own")
    problem_of("own")
    known_strategies()
    assert entry.imports == 1


def test_a_plugin_may_share_our_settings(declare):
    declare(Entry("own", own(config=(WEIGHT,))))
    assert strategy("own").config[0].of({WEIGHT.name: "7"}) == 7


def test_a_plugin_with_the_name_of_our_strategy_is_refused_and_groups_with_it_are_still_read(declare):
    declare(Entry("sticky", own("sticky")))
    both = "strategy 'sticky' of kafka-rebalance-agent itself and acme 1.0 cannot be used: several packages"
    assert problem_of("sticky").startswith(both)
    assert problem_of("cooperative-sticky") == problem_of("sticky")
    assert find_strategy("sticky") is known_strategies()["sticky"] is STRATEGIES["sticky"]
    assert [each.name for each in unusable_plugins()] == ["sticky"]


def test_a_name_declared_by_two_packages_is_refused_with_both(declare):
    entries = declare(Entry("own", own(), "one", "1.0"), Entry("own", own(), "two", "2.0"))
    assert problem_of("own").startswith("strategy 'own' of one 1.0 and two 2.0 cannot be used: several packages")
    assert find_strategy("own") is None
    assert [entry.imports for entry in entries] == [0, 0]


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a=b", "-a", "a" * 101, "cooperative-a"])
def test_a_name_that_settings_cannot_contain_is_refused(declare, name):
    declare(Entry(name, own(name)))
    (refused,) = unusable_plugins()
    assert "a name has up to 100 letters" in refused.problem


def test_broken_metadata_of_other_packages_is_ignored(monkeypatch, caplog):
    def scan():
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    monkeypatch.setattr(strategy_registry, "_PLUGINS", Plugins(STRATEGIES, scan))
    with caplog.at_level(logging.WARNING):
        assert strategy("range") is STRATEGIES["range"]
        assert known_strategies() == STRATEGIES
    assert len(caplog.records) == 1


def test_a_distribution_without_readable_metadata_has_no_name(declare):
    (entry,) = declare(Entry("own", own()))
    entry.dist = None
    assert package_of("own") == "a package without a name"
    assert strategy("own").name == "own"
