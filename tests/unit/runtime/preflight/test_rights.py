"""The list of rights, the proof of each, and its description."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from docs.developers.writers.tables import rights_table
from structlog.testing import capture_logs

from rebalance_agent.cluster.acls import allow_command, principal_of
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.agent_rows import DEGRADED_MODES
from rebalance_agent.runtime.preflight.probes import ProbeResult, prove
from rebalance_agent.runtime.processes.logged_health import LoggedHealth
from rebalance_agent.runtime.processes.rights_watch import RightsWatch, watch_rights
from rebalance_agent.runtime.settings.rights import ADMIN_ONLY, EPOCHS_HIDDEN, acl_command, agent_rights
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings
from support.rights.fake_rights import Brokers

DOCS = Path(__file__).parents[4] / "docs"
FLEET = ObserverSettings(replicas_group="rebalance-agent")
OBSERVER = agent_rights(FLEET)
SIDECAR = agent_rights(SidecarSettings())
READ_ONLY = agent_rights(ObserverSettings(read_only=True))


def verdicts(rights, brokers):
    return {str(right): proof.verdict for right, proof in prove(rights, brokers).items()}


@pytest.mark.parametrize("rights", [OBSERVER, SIDECAR], ids=["observer", "sidecar"])
def test_check_passes_with_every_right_and_needs_no_right_to_create_existing_topics(rights):
    found = verdicts(rights, Brokers(rights))
    assert {verdict for name, verdict in found.items() if name.startswith("Create")} == {ProbeResult.UNUSED}
    assert {verdict for name, verdict in found.items() if not name.startswith("Create")} == {ProbeResult.HELD}


@pytest.mark.parametrize("right", [each for each in OBSERVER if each.operation != "Create"], ids=str)
def test_only_the_removed_right_is_missing(right):
    found = verdicts(OBSERVER, Brokers(set(OBSERVER) - {right}))
    assert right.optional or right.mode in DEGRADED_MODES
    assert [name for name, verdict in found.items() if verdict is ProbeResult.MISSING] == [str(right)]


def test_a_missing_topic_needs_creation_and_proves_no_other_right():
    found = verdicts(SIDECAR, Brokers(OBSERVER, absent=["rebalance-events"]))
    assert found == {
        "Write on Topic 'rebalance-events'": ProbeResult.UNKNOWN,
        "Create on Topic 'rebalance-events'": ProbeResult.HELD,
    }
    without = [right for right in OBSERVER if right.operation != "Create"]
    found = verdicts(SIDECAR, Brokers(without, absent=["rebalance-events"]))
    assert found["Create on Topic 'rebalance-events'"] is ProbeResult.MISSING


def test_a_hidden_topic_may_exist_so_the_right_to_create_it_is_not_missing():
    found = verdicts(SIDECAR, Brokers([]))
    assert found == {
        "Write on Topic 'rebalance-events'": ProbeResult.MISSING,
        "Create on Topic 'rebalance-events'": ProbeResult.UNKNOWN,
    }


def test_brokers_that_do_not_describe_rights_do_not_prove_a_missing_right():
    found = verdicts(OBSERVER, Brokers(OBSERVER, describes=False))
    assert ProbeResult.MISSING not in found.values()
    assert found["Read on Topic '__consumer_offsets'"] is ProbeResult.UNKNOWN


def test_an_observer_of_some_groups_needs_no_right_to_all():
    rights = agent_rights(ObserverSettings(groups_allow="team-.*"))
    found = verdicts(rights, Brokers([right for right in rights if right.name != "*"]))
    assert found["Describe on Group '*'"] is ProbeResult.UNKNOWN
    assert found["Describe on Topic '*'"] is ProbeResult.UNKNOWN
    assert found["DescribeConfigs on Group '*'"] is ProbeResult.UNKNOWN


def test_no_events_topic_needs_no_rights_to_it():
    assert agent_rights(SidecarSettings(events_topic="")) == ()
    settings = ObserverSettings(events_topic="", state_topic="", baselines_topic="")
    assert {right.name for right in agent_rights(settings)} == {"*", "__consumer_offsets"}


def test_every_mode_is_a_label_of_the_metric():
    modes = {right.mode for right in OBSERVER + SIDECAR if not right.optional}
    assert modes == set(DEGRADED_MODES) - {EPOCHS_HIDDEN}


@pytest.mark.parametrize(
    ("properties", "principal"),
    [
        ({}, "User:ANONYMOUS"),
        ({"security.protocol": "ssl", "ssl.ca.location": "x"}, "User:ANONYMOUS"),
        ({"security.protocol": "SSL", "ssl.certificate.location": "x"}, "User:..."),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "me"}, "User:me"),
        ({"security.protocol": "sasl_plaintext", "sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "me"}, "User:me"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.username": "x"}, "User:..."),
        ({"security.protocol": "SASL_SSL"}, "User:..."),
    ],
)
def test_the_principal_is_reported_if_the_properties_contain_it(properties, principal):
    assert principal_of(properties) == principal


def test_the_command_is_valid_in_a_shell():
    right = next(right for right in OBSERVER if right.resource == "Group")
    words = shlex.split(acl_command(right, "User:it's me", "a:1,b:2"))
    assert words[:4] == ["kafka-acls.sh", "--bootstrap-server", "a:1,b:2", "--add"]
    assert words[4:] == ["--allow-principal", "User:it's me", "--operation", "Describe", "--group", "*"]


@pytest.mark.parametrize("resource", ["Group", "Topic"])
@pytest.mark.parametrize(
    "name", ["a b", "$(exit 3)", "`exit 3`", "'; exit 3 #", 'a"b', "a\\", "a\nexit 3", "--all-topics", "*"]
)
def test_a_name_with_shell_characters_is_one_argument_of_the_command(name, resource):
    command = allow_command("Read", resource, name, f"User:{name}", f"{name}:1", prefixed=True)
    assert command.startswith("kafka-acls.sh ")
    script = f"kafka() {{ printf '%s\\0' \"$@\"; }}; kafka {command}"
    said = subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=True).stdout
    words = ["kafka-acls.sh", "--bootstrap-server", f"{name}:1", "--add", "--allow-principal", f"User:{name}"]
    words += ["--operation", "Read", "--resource-pattern-type", "prefixed", f"--{resource.lower()}", name]
    assert said.split("\0") == [*words, ""]


@pytest.mark.parametrize("settings", [FLEET, SidecarSettings()], ids=["observer", "sidecar"])
def test_the_page_on_security_has_the_table_of_rights_and_every_command(settings):
    page = (DOCS / "reference" / "rights.md").read_text(encoding="utf-8")
    assert rights_table(settings) in page
    for right in agent_rights(settings):
        assert (
            acl_command(right, f"User:{settings.__class__.__name__.removesuffix('Settings').lower()}", "kafka:9092")
            in page
        )


def test_modes_begin_and_end_with_the_rights_and_are_logged_once():
    readiness = Readiness()
    health = LoggedHealth(readiness, lambda: None)
    brokers = Brokers(OBSERVER)
    watch = RightsWatch(OBSERVER, brokers, health, "User:me", "a:1")
    with capture_logs() as logs:
        watch()
        assert set(readiness.modes().values()) == {None}
        brokers.held -= {("Topic", "__consumer_offsets", "read")}
        watch()
        watch()
        assert readiness.modes()["admin-only"].startswith(
            "Read on Topic '__consumer_offsets' is missing: classic groups are"
        )
        brokers.fails = True
        watch()
        assert readiness.modes()["admin-only"]
        brokers.fails, brokers.held = False, Brokers(OBSERVER).held
        watch()
    assert set(readiness.modes().values()) == {None}
    assert readiness.is_ready
    reported = [(each["event"], each["mode"]) for each in logs if each["event"] != "ready"]
    assert reported == [("degraded", "admin-only"), ("degraded_no_longer", "admin-only")]
    assert logs[1]["command"].endswith("--allow-principal User:me --operation Read --topic __consumer_offsets")


def test_an_optional_right_is_no_degraded_mode():
    readiness = Readiness()
    health = LoggedHealth(readiness, lambda: None)
    with capture_logs() as logs:
        RightsWatch(OBSERVER, Brokers([right for right in OBSERVER if not right.optional]), health, "", "")()
    assert readiness.modes() == dict.fromkeys(set(DEGRADED_MODES) - {EPOCHS_HIDDEN})
    assert [each["event"] for each in logs] == ["ready"]


def test_an_exception_does_not_end_the_rights_watch_but_the_end_of_its_role_does():
    readiness = Readiness()
    health = LoggedHealth(readiness, lambda: None)
    with capture_logs() as logs:
        RightsWatch(OBSERVER, None, health, "", "")()
    assert [each["event"] for each in logs] == ["rights_watch_failed", "ready"]
    with ExitStack() as stack:
        watch_rights(FLEET, {}, Brokers(OBSERVER), health, stack)
    assert readiness.modes().keys() == set(DEGRADED_MODES) - {EPOCHS_HIDDEN}


def test_a_refusal_counts_if_brokers_do_not_describe_rights():
    readiness, denied = Readiness(), {}
    brokers, health = Brokers(OBSERVER, describes=False), LoggedHealth(readiness, lambda: None)
    watch = RightsWatch(OBSERVER, brokers, health, "User:me", "a:1", lambda: denied)
    watch()
    assert not readiness.modes()[ADMIN_ONLY]
    denied[ADMIN_ONLY] = "Topic authorization failed"
    watch()
    assert readiness.modes()[ADMIN_ONLY].startswith("Read on Topic '__consumer_offsets' is missing")
    brokers.describes = True
    watch()
    assert not readiness.modes()[ADMIN_ONLY]


def test_a_mode_without_a_permission_holds_as_long_as_its_reason():
    readiness, denied = Readiness(), {EPOCHS_HIDDEN: None}
    health = LoggedHealth(readiness, lambda: None)
    watch = RightsWatch(OBSERVER, Brokers(OBSERVER), health, "User:me", "a:1", lambda: denied)
    with capture_logs() as logs:
        for denied[EPOCHS_HIDDEN] in (None, "kafka-python: is not installed", None):
            watch()
            assert readiness.modes()[EPOCHS_HIDDEN] == denied[EPOCHS_HIDDEN]
    reported = [(each["event"], each["mode"]) for each in logs if each["event"] != "ready"]
    assert reported == [("degraded", EPOCHS_HIDDEN), ("degraded_no_longer", EPOCHS_HIDDEN)]


def test_a_read_only_observer_needs_no_right_to_change_anything():
    assert {right.operation for right in READ_ONLY} == {"Read", "Describe", "DescribeConfigs"}
    assert {right.name for right in READ_ONLY if right.operation == "Read"} == {
        "__consumer_offsets",
        "rebalance-events",
        "rebalance-baselines",
    }
