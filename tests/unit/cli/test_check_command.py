from __future__ import annotations

import json
import shlex
import socket
import subprocess

import pytest

from rebalance_agent.cli import main
from rebalance_agent.clock import SystemClock
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.server import HttpServer
from rebalance_agent.runtime.listeners.web import WebApp
from rebalance_agent.runtime.preflight.local_checks import local_findings
from rebalance_agent.runtime.preflight.server_checks import SERVERS_MAX, reach
from rebalance_agent.runtime.settings.rights import acl_command, agent_rights
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings
from support.observer.sidecars import Sidecar

FREE = ("--listen", "127.0.0.1:0")
OAUTH = ("--kafka=sasl.mechanism=OAUTHBEARER", "--kafka=sasl.oauthbearer.client.id=a")


def local(settings):
    return {each.name: (each.status.value, each.detail) for each in local_findings(settings, SystemClock())}


def test_an_observer_without_a_cluster_fails_the_check(capsys):
    assert main.main(["check", *FREE]) == 2
    assert "failed   cluster - no bootstrap.servers are set" in capsys.readouterr().out


def test_without_a_cluster_only_this_machine_is_checked(capsys):
    assert main.main(["check", "--idle", *FREE]) == 0
    out = capsys.readouterr().out
    assert out.startswith("requirements of the observer without a cluster\n\nok       listen 127.0.0.1:0 - is free\n")
    assert "no bootstrap.servers are set, so the agent works without Kafka" in out


@pytest.mark.parametrize(
    ("color", "environment", "colored"),
    [
        ("always", "NO_COLOR", True),
        ("never", "FORCE_COLOR", False),
        ("auto", "TERM", False),
        ("auto", "FORCE_COLOR", True),
    ],
)
def test_the_flag_for_colors_wins_over_the_environment(capsys, monkeypatch, color, environment, colored):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv(environment, "1")
    assert main.main(["check", "--idle", "--color", color, *FREE]) == 0
    assert ("\033[32mok      \033[0m listen" in capsys.readouterr().out) is colored


def test_the_roles_have_their_own_needs_and_settings(capsys):
    assert main.main(["check", "--role", "sidecar", "--json", *FREE, "--events-listen", "127.0.0.1:0"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["role"] == "sidecar"
    assert [each["name"].split()[0] for each in report["checks"]] == ["listen", "events_listen", "cluster"]
    with pytest.raises(SystemExit) as ended:
        main.main(["check", "--role", "sidecar", "--settle-seconds", "1"])
    assert ended.value.code == 2
    assert "--settle-seconds is not a setting of the sidecar" in capsys.readouterr().err


def test_wrong_settings_and_an_unreachable_cluster_end_with_two(capsys):
    assert main.main(["check", "--listen", "x"]) == 2
    assert capsys.readouterr().err.startswith("rebalance-agent check: listen: ")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert main.main(["check", *FREE, "--bootstrap-servers", f"127.0.0.1:{port}"]) == 2
    out = capsys.readouterr().out
    assert f"failed   server 127.0.0.1:{port} - TCP: port {port} is closed" in out
    assert "no server could be reached, so nothing more was checked" in out


def test_the_help_of_check_explains_the_roles(capsys):
    with pytest.raises(SystemExit) as ended:
        main.main(["check", "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for word in (
        "--role {observer,sidecar,gateway}",
        "--json",
        "Exit code 0 if",
        "missing  the permission",
        "examples:",
    ):
        assert word in text


def test_a_port_of_a_running_agent_is_no_failure():
    server = HttpServer("127.0.0.1", 0, WebApp((), Readiness()))
    server.start()
    try:
        address = f"127.0.0.1:{server.port}"
        found = local(ObserverSettings(listen=address))[f"listen {address}"]
    finally:
        server.stop()
    assert found == ("skipped", "in use by a running agent; a second agent needs another address: --listen")


def test_a_port_of_another_program_is_a_failure():
    with Sidecar() as somebody:  # responds, but not like an agent
        address = somebody.url.split("/")[2]
        found = local(ObserverSettings(listen=address))[f"listen {address}"]
    assert found == ("failed", "cannot listen: Address already in use")


def test_configured_files_are_read_and_used(tmp_path):
    token = tmp_path / "token"
    token.write_text("abcdefgh" * 4)
    settings = ObserverSettings(
        listen="127.0.0.1:0",
        web_token_file=str(token),
        tls_cert_file=str(tmp_path / "none.pem"),
        events_file=str(tmp_path / "events.ndjson"),
    )
    found = local(settings)
    assert found[f"file {token}"][0] == "ok"
    assert found[f"file {tmp_path / 'none.pem'}"][0] == "failed"
    assert found[f"events_file {tmp_path / 'events.ndjson'}"] == ("ok", "is writable")
    assert not (tmp_path / "events.ndjson").exists()
    assert (
        local(ObserverSettings(listen="127.0.0.1:0", events_file=str(tmp_path)))[f"events_file {tmp_path}"][0]
        == "failed"
    )


def test_the_check_connects_to_a_webhook_and_does_not_show_its_path():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        settings = SidecarSettings(
            listen="127.0.0.1:0", events_listen="127.0.0.1:0", events_webhook=f"http://127.0.0.1:{port}/secret-path"
        )
        assert local(settings)[f"events_webhook http://127.0.0.1:{port}"][0] == "ok"
    found = local(settings)
    assert found[f"events_webhook http://127.0.0.1:{port}"] == ("failed", f"TCP: port {port} is closed")
    assert "secret-path" not in repr(found)


def test_servers_beyond_the_checked_number_are_reported(monkeypatch):
    monkeypatch.setattr("rebalance_agent.runtime.preflight.server_checks._reach", lambda name, *_: name)
    found = list(reach([(f"kafka-{number}", 9092) for number in range(SERVERS_MAX + 2)], {}, SystemClock()))
    assert len(found) == SERVERS_MAX + 1
    assert found[-1].finding.detail == f"2 of {SERVERS_MAX + 2} servers were not checked"


def test_the_acl_script_grants_each_right_once_with_its_arguments(capsys, tmp_path):
    assert main.main(["check", "--acl-script", "--bootstrap-servers", "k:9092", "--principal", "User:CN=it's me"]) == 0
    script = capsys.readouterr().out
    tool, calls = tmp_path / "kafka-acls.sh", tmp_path / "calls"
    tool.write_text(f"#!/bin/sh\nprintf '%s|' \"$@\" >> {calls}\necho >> {calls}\n")
    tool.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(["sh", "-c", script, "acls.sh", "--command-config", "my file"], env=environment, check=True)
    rights = agent_rights(ObserverSettings())
    expected = [
        [*shlex.split(acl_command(right, "User:CN=it's me", "k:9092"))[1:], "--command-config", "my file", ""]
        for right in rights
    ]
    assert [line.split("|") for line in calls.read_text().splitlines()] == expected


def test_an_acl_script_needs_no_password(capsys):
    login = ("security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512", "sasl.username=observer")
    flags = [f"--kafka={each}" for each in login]
    assert main.main(["check", "--acl-script", "--bootstrap-servers=k", *flags]) == 0
    out = capsys.readouterr().out
    assert "kafka-acls.sh --bootstrap-server k:9092 --add --allow-principal User:observer " in out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--acl-script"], "--acl-script needs the servers: add --bootstrap-servers HOST:PORT,..."),
        (["--acl-script", "--principal", "agent"], "'agent' must be TYPE:NAME, such as User:agent"),
        (["--principal", "User:a"], "--principal requires --acl-script"),
        (
            ["--acl-script", "--bootstrap-servers=k:9093", "--kafka=security.protocol=SASL_SSL", *OAUTH],
            "only the brokers can determine the principal of this login: add --principal TYPE:NAME",
        ),
    ],
)
def test_an_acl_script_without_servers_or_principal_is_an_error(flags, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main.main(["check", *flags])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_misspelt_variable_is_reported_as_text_outside_of_a_log(capsys, monkeypatch):
    monkeypatch.setenv("REBALANCE_AGENT_SETLE_SECONDS", "1")
    main.main(["check", "--listen", "127.0.0.1:0", "--idle"])
    reported = "the variable REBALANCE_AGENT_SETLE_SECONDS is ignored; did you mean REBALANCE_AGENT_SETTLE_SECONDS?"
    assert capsys.readouterr().err == f"rebalance-agent check: {reported}\n"
