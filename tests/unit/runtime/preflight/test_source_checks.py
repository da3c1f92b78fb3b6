"""`check` reports which sources of generations are allowed, which one is used, and what each costs."""

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.preflight.findings import exit_code
from rebalance_agent.runtime.preflight.probes import ProbeResult
from rebalance_agent.runtime.preflight.source_checks import SOURCES, source_findings, source_rights
from rebalance_agent.runtime.settings.rights import agent_rights
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.settings.settings_sources import load

HELD = dict.fromkeys(SOURCES, ProbeResult.HELD)


def found(*, missing=(), probes=HELD, no_epochs="", **settings):
    """The text of each source's row."""
    probes = probes | dict.fromkeys(missing, ProbeResult.MISSING)
    rows = list(source_findings(ObserverSettings(**settings), probes, brokers=3, groups=40, no_epochs=no_epochs))
    assert exit_code(rows) == 0, "a source that is not allowed is not a fault"
    return {row.name.removeprefix("source "): row.detail for row in rows}


def used(**fields):
    return [source for source, text in found(**fields).items() if text.startswith("used; ")]


@pytest.mark.parametrize(
    ("missing", "chosen"),
    [
        ((), ["offsets-topic"]),
        (("offsets-topic",), ["frames"]),
        (("offsets-topic", "frames"), ["describe"]),
        (SOURCES, []),
    ],
)
def test_the_first_source_that_is_allowed_is_used(missing, chosen):
    assert used(missing=missing) == chosen
    assert all(
        text.startswith("not allowed: needs ") for source, text in found(missing=missing).items() if source in missing
    )


def test_a_set_source_is_the_one_that_is_used():
    assert used(source="describe") == ["describe"]
    assert used(source="frames") == ["frames"]


def test_frames_need_a_way_to_the_observer():
    assert found(events_topic="")["frames"] == "needs events_topic or events_listen"
    assert found(events_topic="", events_listen="127.0.0.1:1")["frames"].startswith("not used; ")


def test_the_costs_are_those_of_the_settings():
    text = found(list_interval_ms=500, list_all_interval_seconds=10, describe_interval_seconds=8)
    assert "up to 60 fetches and 6.3 ListGroups per second" in text["offsets-topic"]
    assert "5 descriptions of groups and 12.7 ListGroups per second" in text["describe"]


def test_descriptions_that_lack_epochs_are_reported_with_the_reason():
    assert "epochs" not in found()["describe"]
    assert found(no_epochs="kafka-python: is not installed")["describe"].endswith(
        "; these generations cannot be read now: kafka-python: is not installed"
    )


def test_an_unproven_right_is_not_taken_for_a_missing_one():
    text = found(probes=HELD | {"offsets-topic": ProbeResult.UNKNOWN})
    assert text["offsets-topic"].startswith("used; ")
    assert text["offsets-topic"].endswith("; it is unknown whether the permission is granted")


def test_each_right_is_one_of_the_roles_own():
    own = {str(right) for right in agent_rights(ObserverSettings())}
    assert {str(right) for right in source_rights(ObserverSettings()).values()} <= own


@pytest.mark.parametrize(
    ("source", "reads"), [("auto", True), ("offsets-topic", True), ("frames", False), ("describe", False)]
)
def test_without_the_log_no_right_to_it_is_needed_and_no_snapshot_is_kept(source, reads):
    settings = ObserverSettings(source=source)
    names = {right.name for right in agent_rights(settings)}
    assert ("__consumer_offsets" in names, settings.state_topic in names) == (reads, reads)


def test_replicas_need_the_log():
    with pytest.raises(InvalidInputError, match="source: must be auto or offsets-topic"):
        load(ObserverSettings, None, {"source": "frames", "replicas_group": "rebalance-agent"})
