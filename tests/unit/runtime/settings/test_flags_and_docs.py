from __future__ import annotations

import argparse
import re
import socket
from pathlib import Path

import pytest
from docs.developers.writers.settings_page import settings_page

from rebalance_agent.cli import main
from rebalance_agent.cli.commands import gateway, observe, sidecar
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.settings.flags import HELP_GROUPS, add_flags, flag_values
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings

DOCS = Path(__file__).parents[4] / "docs"
ROLES = [
    (observe, ObserverSettings, "observe"),
    (sidecar, SidecarSettings, "sidecar"),
    (gateway, GatewaySettings, "gateway"),
]


def _parser(model):
    parser = argparse.ArgumentParser()
    add_flags(parser, model)
    return parser


@pytest.mark.parametrize(("_module", "model", "name"), ROLES)
def test_help_names_every_setting_with_its_flag_its_variable_and_its_default(capsys, _module, model, name):
    with pytest.raises(SystemExit) as ended:
        main.main([name, "--help"])
    assert ended.value.code == 0
    text = "".join(capsys.readouterr().out.split())
    for setting, field in model.model_fields.items():
        assert f"--{setting.replace('_', '-')}" in text
        assert f"REBALANCE_AGENT_{setting.upper()}" in text
        if isinstance(field.default, str) and field.default:
            assert f"default{''.join(field.default.split())}" in text
    assert f"examples:rebalance-agent{name}" in text


def test_help_groups_the_settings_by_subject(capsys):
    with pytest.raises(SystemExit):
        main.main(["observe", "--help"])
    parts = dict(re.findall(r"^([a-z/ ,]+):\n((?: .*\n)+)", capsys.readouterr().out, re.MULTILINE))
    assert [title for title in HELP_GROUPS if title != "the gateway"] == [
        title for title in parts if title in HELP_GROUPS
    ]
    assert "--listen HOST:PORT" in parts["web port"]
    assert "--groups-deny REGEX" in parts["groups and topics"]
    assert re.findall("--[a-z-]+", parts["options"]) == ["--help", "--color"]


def test_the_committed_page_of_settings_is_current():
    assert (DOCS / "reference" / "settings.md").read_text() == settings_page(), "run: make docs"


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        (ObserverSettings, ("All roles", "Observer")),
        (SidecarSettings, ("All roles", "Sidecar")),
        (GatewaySettings, ("All roles", "Sidecar", "Gateway")),
    ],
)
def test_the_parts_of_a_role_list_each_setting_once_with_its_default(model, parts):
    sections = dict(part.split("\n", 1) for part in settings_page().split("\n## ")[1:])
    rows = [row.split(" | ") for part in parts for row in sections[part].splitlines() if row.startswith("| `")]
    names = [row[0].strip("| `") for row in rows]
    assert sorted(names) == sorted(model.model_fields)
    for name, row in zip(names, rows, strict=True):
        default = model.model_fields[name].default
        if isinstance(default, str) and default:
            assert row[3].strip("`") == default.replace("|", "\\|")


def test_flags_become_settings_and_kafka_properties():
    arguments = ["--settle-seconds", "2", "--bootstrap-servers", "a:1", "--kafka", "x=y=z", "--kafka", "client.id="]
    options = _parser(ObserverSettings).parse_args(arguments)
    assert flag_values(options, ObserverSettings) == {
        "settle_seconds": "2",
        "kafka": {"x": "y=z", "client.id": "", "bootstrap.servers": "a:1"},
    }


def test_a_kafka_property_without_a_value_is_refused():
    with pytest.raises(InvalidInputError, match=r"^--kafka: must be KEY=VALUE"):
        flag_values(_parser(SidecarSettings).parse_args(["--kafka", "ssl"]), SidecarSettings)


@pytest.mark.parametrize(
    "spelt",
    [
        "sasl.password",
        "sasl_password",
        "ssl.key.pem",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.extensions",
        "sasl.kerberos.kinit.cmd",
    ],
)
def test_a_secret_on_the_command_line_is_refused_with_two_safe_alternatives(capsys, spelt):
    assert main.main(["observe", "--kafka", f"{spelt}=not-a-secret"]) == 2
    reported = capsys.readouterr().err
    name = spelt.replace("_", ".")
    assert reported.startswith(f"rebalance-agent observe: --kafka {name}: ")
    assert f"{name}.file=PATH" in reported
    assert f"REBALANCE_AGENT_KAFKA__{name.replace('.', '_').upper()}" in reported
    assert "not-a-secret" not in reported
    arguments = [f"{spelt}.file=/run/secrets/x"]
    options = _parser(ObserverSettings).parse_args(["--kafka", *arguments])
    assert flag_values(options, ObserverSettings) == {"kafka": {f"{spelt}.file": "/run/secrets/x"}}


@pytest.mark.parametrize(("_module", "_model", "name"), ROLES)
def test_each_wrong_setting_is_one_line_and_the_exit_code_is_2(capsys, _module, _model, name):
    assert main.main([name, "--listen", "x", "--stop-seconds", "y"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        [f"rebalance-agent {name}", "listen"],
        [f"rebalance-agent {name}", "stop_seconds"],
    ]


def test_a_kafka_property_that_librdkafka_does_not_know_is_refused_by_name(capsys):
    assert main.main(["observe", "--kafka", "bootstap.servers=a"]) == 2
    assert "bootstap.servers" in capsys.readouterr().err


def test_events_beyond_loopback_without_a_token_are_refused_with_the_settings_name(capsys):
    assert main.main(["sidecar", "--events-listen", "0.0.0.0:0"]) == 2
    assert capsys.readouterr().err.startswith("rebalance-agent sidecar: events_token_file: is required")


@pytest.fixture
def taken():
    """An occupied address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("name", ["observe", "sidecar"])
@pytest.mark.parametrize(
    ("flags", "reported"),
    [
        (["--listen", "TAKEN"], "cannot listen on"),
        (["--listen", "192.0.2.1:0"], "cannot listen on 192.0.2.1:0"),
        (["--listen", "no.such.host.invalid:0"], "cannot listen on no.such.host.invalid:0"),
        (["--listen", "nonsense"], "listen: must be host:port, such as 127.0.0.1:29308"),
        (["--listen", "99999"], "listen: the port must be 0 to 65535, such as 127.0.0.1:29308"),
        (["--events-listen", "localhost:99999"], "events_listen: the port must be 0 to 65535, such as localhost:29309"),
        (["--tls-cert-file", "/no/such"], "tls_key_file: is missing"),
        (["--web-token-file", "/no/such"], "web_token_file: cannot read /no/such"),
        (["--events-file", "/no/such/e"], "events_file: cannot append to /no/such/e"),
        (["--events-webhook", "ftp://example.org"], "events_webhook: must be an http or https URL"),
        (
            ["--events-webhook", "https://example.org", "--events-webhook-ca-file", "/no/such"],
            "events_webhook_ca_file: ",
        ),
    ],
)
def test_a_process_that_cannot_start_ends_with_2_and_the_setting(capsys, taken, name, flags, reported):
    elsewhere = ["--events-listen", "127.0.0.1:0"] if name == "sidecar" else ["--idle"]
    flags = [flag.replace("TAKEN", taken) for flag in flags]
    assert main.main([name, *elsewhere, *(["--listen", "127.0.0.1:0"] if "--listen" not in flags else []), *flags]) == 2
    reported_lines = [
        line for line in capsys.readouterr().err.splitlines() if line.startswith(f"rebalance-agent {name}: ")
    ]
    assert len(reported_lines) == 1
    assert reported in reported_lines[0]


def test_an_observer_without_a_cluster_names_the_missing_setting(capsys):
    assert main.main(["observe", "--listen", "127.0.0.1:0"]) == 2
    reported = capsys.readouterr().err
    assert reported.startswith("rebalance-agent observe: kafka.bootstrap.servers: is missing: ")
    assert "--bootstrap-servers HOST:PORT" in reported
    assert "--idle" in reported


@pytest.mark.parametrize(
    ("given", "read_only"), [([], None), (["--read-only"], "true"), (["--read-only", "false"], "false")]
)
def test_a_boolean_flag_needs_no_value(given, read_only):
    parser = argparse.ArgumentParser()
    add_flags(parser, ObserverSettings)
    assert flag_values(parser.parse_args(given), ObserverSettings).get("read_only") == read_only


@pytest.mark.parametrize(
    ("given", "variable"),
    [
        (["--events-webhook", "https://user:hunter2@h/x"], "REBALANCE_AGENT_EVENTS_WEBHOOK"),
        (["--events-webhook", "https://h/x?key=hunter2"], "REBALANCE_AGENT_EVENTS_WEBHOOK"),
        (["--events-webhook", "https://h/x#hunter2"], "REBALANCE_AGENT_EVENTS_WEBHOOK"),
        (["--events-webhook", "https://hooks.slack.com/services/T/B/hunter2"], "REBALANCE_AGENT_EVENTS_WEBHOOK"),
        (["--events-webhook", "HTTPS://h/hunter2"], "REBALANCE_AGENT_EVENTS_WEBHOOK"),
        (["--events-webhook", "https://h/;token=hunter2"], "REBALANCE_AGENT_EVENTS_WEBHOOK"),
        (["--events-webhook", "https://h/%3Ftoken=hunter2"], "REBALANCE_AGENT_EVENTS_WEBHOOK"),
        (["--kafka", "x.y=https://h/x;token=hunter2"], "REBALANCE_AGENT_KAFKA__X_Y"),
        (["--kafka", "x.y=https://h/x%3Ftoken=hunter2"], "REBALANCE_AGENT_KAFKA__X_Y"),
        (
            ["--kafka", "sasl.oauthbearer.token.endpoint.url=https://me:hunter2@h/token"],
            "REBALANCE_AGENT_KAFKA__SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL",
        ),
        (["--kafka", "x.y=https://h/token?a=hunter2"], "REBALANCE_AGENT_KAFKA__X_Y"),
    ],
)
def test_a_secret_in_a_url_on_the_command_line_is_refused_with_two_safe_alternatives(capsys, given, variable):
    assert main.main(["observe", *given]) == 2
    reported = capsys.readouterr().err
    assert "process list" in reported
    assert variable in reported
    assert "--config" in reported
    assert "hunter2" not in reported


def test_login_options_without_a_secret_are_accepted_as_a_flag():
    given = ["--kafka", "sasl.oauthbearer.config=region=eu-central-1, role_arn=arn:aws:iam::123456789012:role/a"]
    options = _parser(ObserverSettings).parse_args(given)
    name, _, value = given[1].partition("=")
    assert flag_values(options, ObserverSettings) == {"kafka": {name: value}}


@pytest.mark.parametrize("webhook", ["https://h", "https://h:1/", "http://[::1]:80"])
@pytest.mark.parametrize("kafka", ["https://h:1/x", "PLAINTEXT://a:9092,SSL://b:9093"])
def test_a_url_without_a_secret_is_accepted_as_a_flag(webhook, kafka):
    options = argparse.Namespace(**dict.fromkeys(ObserverSettings.model_fields), bootstrap_servers=None)
    options.events_webhook, options.kafka = webhook, [f"a.b={kafka}"]
    assert flag_values(options, ObserverSettings) == {"events_webhook": webhook, "kafka": {"a.b": kafka}}
