from __future__ import annotations

import pytest

from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings
from rebalance_agent.runtime.settings.settings_sources import FILE_BYTES_MAX, SettingsErrors, load, misspelt_environment
from rebalance_agent.runtime.settings.text_types import split_address
from rebalance_agent.tracking.patterns.copartition import Copartitioned


@pytest.fixture(autouse=True)
def _no_settings_in_the_environment(monkeypatch):
    for name in ("SETTLE_SECONDS", "KAFKA", "LISTEN", "CONFIG"):
        monkeypatch.delenv(f"REBALANCE_AGENT_{name}", raising=False)


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def _problems(model=ObserverSettings, file=None, flags=()):
    with pytest.raises(SettingsErrors) as caught:
        load(model, file, dict(flags))
    return caught.value.lines


def test_flags_override_the_environment_which_overrides_the_file_which_overrides_defaults(write, monkeypatch):
    file = write("a.yaml", "settle_seconds: 1\nlist_interval_ms: 100\ncluster_name: file\n")
    assert load(ObserverSettings, None, {}).settle_seconds == 5
    assert load(ObserverSettings, file, {}).settle_seconds == 1
    monkeypatch.setenv("REBALANCE_AGENT_SETTLE_SECONDS", "2")
    monkeypatch.setenv("REBALANCE_AGENT_CLUSTER_NAME", "env")
    settings = load(ObserverSettings, file, {"settle_seconds": "3"})
    assert (settings.settle_seconds, settings.cluster_name, settings.list_interval_ms) == (3, "env", 100)


def test_kafka_properties_of_all_sources_are_merged_in_any_spelling(write, monkeypatch):
    file = write(
        "a.toml", '[kafka]\n"bootstrap.servers" = "file:9092"\n"client.id" = "me"\nsocket_keepalive_enable = true\n'
    )
    monkeypatch.setenv("REBALANCE_AGENT_KAFKA__BOOTSTRAP_SERVERS", "env:9092")
    monkeypatch.setenv("REBALANCE_AGENT_KAFKA__SASL_PASSWORD_FILE", "/run/secret")
    settings = load(SidecarSettings, file, {"kafka": {"retries": "3"}})
    assert settings.kafka == {
        "bootstrap.servers": "env:9092",
        "client.id": "me",
        "socket.keepalive.enable": "true",
        "sasl.password.file": "/run/secret",
        "retries": "3",
    }


def test_kafka_properties_are_not_shown_by_repr():
    assert "hunter2" not in repr(load(ObserverSettings, None, {"kafka": {"sasl.password": "hunter2"}}))


def test_an_unknown_setting_is_refused_by_name(write):
    assert _problems(file=write("a.yaml", "setle_seconds: 1\n")) == (
        "setle_seconds: is not a known setting; did you mean settle_seconds?",
    )
    assert _problems(SidecarSettings, write("b.yaml", "list_interval_ms: 100\n")) == (
        "list_interval_ms: is not a known setting",
    )


@pytest.mark.parametrize(
    ("variable", "value", "field"),
    [
        ("KAFKA__B\udcff", "x", "kafka"),
        ("KAFKA__BOOTSTRAP_SERVERS", "\udcff:9092", "kafka"),
        ("LISTEN", "\udcff", "listen"),
    ],
)
def test_bytes_other_than_utf_8_are_refused_by_the_settings_name(monkeypatch, variable, value, field):
    monkeypatch.setenv(f"REBALANCE_AGENT_{variable}", value)
    assert _problems() == (f"{field}: is not UTF-8 text",)


def test_every_wrong_setting_has_its_own_line_without_the_value_of_a_text():
    lines = _problems(
        flags={
            "settle_seconds": "a",
            "list_interval_ms": "1",
            "groups_deny": "(",
            "events_topic": "a-secret/b",
            "log_level": "loud",
            "listen": "29308",
            "kafka": {"group.id": "a-secret"},
        }
    )
    assert sorted(line.partition(":")[0] for line in lines) == [
        "events_topic",
        "groups_deny",
        "kafka",
        "list_interval_ms",
        "listen",
        "log_level",
        "settle_seconds",
    ]
    assert not any("a-secret" in line or "\n" in line for line in lines)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.yaml", "a: [", "is not valid"),
        # Coverage at each of these depths takes longer than the other tests of this file.
        pytest.param("a.yaml", "[" * 1_500, "is not valid", marks=pytest.mark.no_cover, id="deep"),
        ("a.yaml", "listen: @hunter2", "cannot start any token in line 1, column 9"),
        ("a.yaml", "listen: 2026-99-99", "is not valid"),
        ("a.yaml", "- a\n", "must contain a mapping of setting names to values"),
        ("a.yaml", "1: a\n", "must contain a mapping of setting names to values"),
        ("a.toml", "a = ", "is not valid"),
        ("a.json", "{}", "must end in"),
        ("a.yaml", " " * (FILE_BYTES_MAX + 1), "more than"),
    ],
)
def test_an_invalid_file_is_refused_in_one_line(write, name, text, problem):
    (line,) = _problems(file=write(name, text))
    assert line.startswith("config: ")
    assert problem in line
    assert "hunter2" not in line
    assert "\n" not in line


def test_a_missing_file_is_refused_and_an_empty_one_is_valid(write):
    assert _problems(file="/nowhere/a.yaml") == ("config: cannot read /nowhere/a.yaml: No such file or directory",)
    assert load(ObserverSettings, write("a.yaml", ""), {}) == load(ObserverSettings, None, {})


def test_an_environment_value_other_than_a_mapping_is_refused(monkeypatch):
    monkeypatch.setenv("REBALANCE_AGENT_KAFKA", "{not json")
    (line,) = _problems()
    assert "kafka" in line.lower()


@pytest.mark.parametrize("pattern", ["(", "(" * 900, "a{99999999999999999999}"])
def test_invalid_patterns_are_refused(pattern):
    (line,) = _problems(flags={"groups_allow": pattern})
    assert line.startswith("groups_allow: is not a regular expression: ")


def test_co_partition_declarations_come_from_lines_of_a_file_or_one_variable(write, monkeypatch):
    file = write("a.yaml", "copartitioned: |\n  joins-.*\n  billing=payments,refunds\n")
    assert Copartitioned.parse(load(ObserverSettings, file, {}).copartitioned).of("billing").topics
    monkeypatch.setenv("REBALANCE_AGENT_COPARTITIONED", "joins-.*;billing=payments,refunds")
    declared = Copartitioned.parse(load(ObserverSettings, None, {}).copartitioned)
    assert declared.of("billing").topics == ("payments", "refunds")


def test_wrong_co_partition_declarations_are_refused_by_name():
    (line,) = _problems(flags={"copartitioned": "joins-.*; billing=payments"})
    assert line == "copartitioned: 'billing=payments' names only one topic; at least two can be co-partitioned"


def test_a_misspelt_variable_is_found_and_variables_of_others_are_ignored():
    environment = {
        "REBALANCE_AGENT_SETLE_SECONDS": "1",
        "REBALANCE_AGENT_SETTLE_SECONDS": "1",
        "REBALANCE_AGENT_KAFKA__BOOTSTRAP_SERVERS": "x",
        "REBALANCE_AGENT_CONFIG": "x",
        "REBALANCE_AGENT_SERVICE_HOST": "10.0.0.1",
        "REBALANCE_AGENT_PORT": "tcp://10.0.0.1:29308",
        "REBALANCE_AGENT_PORT_29308_TCP_PROTO": "tcp",
        "REBALANCE_AGENT_CACHE": "/tmp",
        "SETLE_SECONDS": "1",
        "REBALANCE_AGENT_GATEWAY_GROUP": "orders=sticky",
        "REBALANCE_AGENT_GATEWAY_LISTEN": "127.0.0.1:1",
        "REBALANCE_AGENT_GATEWAY_PORT": "tcp://10.0.0.1:29092",
        "REBALANCE_AGENT_GATEWAY_SERVICE_HOST": "10.0.0.1",
    }
    assert misspelt_environment(environment) == {
        "REBALANCE_AGENT_SETLE_SECONDS": "REBALANCE_AGENT_SETTLE_SECONDS",
        "REBALANCE_AGENT_GATEWAY_GROUP": "REBALANCE_AGENT_GATEWAY_GROUPS",
    }


def test_a_property_of_kafka_at_the_wrong_place_gets_the_right_one(tmp_path):
    assert misspelt_environment({"REBALANCE_AGENT_BOOTSTRAP_SERVERS": "x", "REBALANCE_AGENT_OTHER_SERVERS": "x"}) == {
        "REBALANCE_AGENT_BOOTSTRAP_SERVERS": "REBALANCE_AGENT_KAFKA__BOOTSTRAP_SERVERS"
    }
    file = tmp_path / "observer.yaml"
    file.write_text("bootstrap_servers: host:9092\nsecurity.protocol: SSL\n")
    with pytest.raises(SettingsErrors) as refused:
        load(ObserverSettings, str(file), {})
    text = "is not a known setting; it is a property of Kafka's clients"
    assert set(refused.value.lines) == {
        f"bootstrap_servers: {text}: kafka: {{bootstrap.servers: ...}}",
        f"security.protocol: {text}: kafka: {{security.protocol: ...}}",
    }


@pytest.mark.parametrize(
    ("text", "address"),
    [("0.0.0.0:29308", ("0.0.0.0", 29308)), ("[::1]:0", ("::1", 0)), ("localhost:65535", ("localhost", 65535))],
)
def test_an_address_is_host_and_port(text, address):
    assert split_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "29308", ":29308", "host:", "host:65536", "host:-1", "::1:80", "host:٣", "..:80", "é" * 80 + ":80"]
)
def test_an_invalid_address_is_refused(text):
    with pytest.raises(ValueError, match="must"):
        split_address(text)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("settle_seconds", "abc", "input should be a valid number, unable to parse string as a number: 'abc'"),
        ("settle_seconds", -1, "input should be greater than or equal to 0: -1"),
        ("read_only", "x" * 1_000, "input should be a valid boolean, unable to interpret input: '" + "x" * 99),
        ("log_level", "loud", "input should be 'debug', 'info', 'warning' or 'error': 'loud'"),
        ("top_topics", {"password": "secret"}, "input should be a valid integer"),
        ("events_webhook", 7, "input should be a valid string"),
    ],
)
def test_a_wrong_value_is_quoted_unless_it_may_be_secret(name, value, problem):
    with pytest.raises(SettingsErrors) as refused:
        load(ObserverSettings, None, {name: value})
    assert refused.value.lines == (f"{name}: {problem}",)


def test_snapshots_and_events_do_not_share_a_topic():
    assert _problems(flags={"state_topic": "x", "events_topic": "x"}) == (
        "state_topic: must be another topic than events_topic",
    )
    assert load(ObserverSettings, None, {"state_topic": "", "events_topic": ""}).state_topic == ""


@pytest.mark.parametrize("other", ["state_topic", "events_topic"])
def test_baselines_have_a_topic_of_their_own(other):
    assert _problems(flags={"baselines_topic": "x", other: "x"}) == (
        "baselines_topic: must be another topic than events_topic and state_topic",
    )
    assert load(ObserverSettings, None, {"baselines_topic": "", other: ""}).baselines_topic == ""


@pytest.mark.parametrize("name", ["state_topic", "events_topic", "baselines_topic"])
def test_internal_topics_of_brokers_are_refused_as_targets(name):
    assert _problems(flags={name: "__consumer_offsets"}) == (f"{name}: is an internal topic of the brokers",)


@pytest.mark.parametrize(
    ("listen", "events_listen", "both"),
    [
        ("0.0.0.0:9000", "127.0.0.1:9000", False),
        ("127.0.0.1:9000", "[::]:9000", False),
        ("localhost:9000", "127.0.0.1:9000", False),
        ("127.0.0.1:9000", "127.0.0.1:9001", True),
        ("10.0.0.1:9000", "127.0.0.1:9000", True),
        ("127.0.0.1:0", "127.0.0.1:0", True),
    ],
)
def test_the_two_listeners_of_a_sidecar_do_not_share_a_port(listen, events_listen, both):
    flags = {"listen": listen, "events_listen": events_listen}
    if both:
        assert load(SidecarSettings, None, flags).events_listen == events_listen
    else:
        assert _problems(SidecarSettings, flags=flags) == ("events_listen: must not use the same port as listen",)


def test_posts_to_one_of_several_replicas_need_an_events_topic():
    flags = {"events_listen": "127.0.0.1:0", "replicas_group": "rebalance-agent"}
    for without in ({"events_topic": ""}, {"read_only": "true"}):
        assert _problems(flags={**flags, **without}) == (
            "events_listen: with replicas_group, events_topic must be set and read_only must not",
        )
    assert load(ObserverSettings, None, flags).events_listen
    assert load(ObserverSettings, None, {**flags, "replicas_group": ""}).events_listen
    assert _problems(flags={"events_listen": "nowhere"})
