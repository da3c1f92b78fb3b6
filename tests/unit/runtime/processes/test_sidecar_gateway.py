"""A sidecar is also a gateway if a gateway setting is present, and otherwise needs none of its requirements."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rebalance_agent.cli import main
from rebalance_agent.cli.commands import sidecar
from rebalance_agent.runtime.processes.gateway import GatewayRole
from rebalance_agent.runtime.processes.sidecar import Sidecar
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings, without_unused_gateway
from rebalance_agent.runtime.settings.redacted import shown_settings
from rebalance_agent.runtime.settings.roles import SidecarSettings
from rebalance_agent.runtime.settings.settings_sources import SettingsErrors, load

FREE = {"listen": "127.0.0.1:0", "events_listen": "127.0.0.1:0"}
KAFKA = {"bootstrap.servers": "127.0.0.1:1"}


def role(flags=(), monkeypatch=None, **environment):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return sidecar._role(load(GatewaySettings, None, {**FREE, **dict(flags)}), KAFKA)


@pytest.mark.parametrize(
    "flags", [{"gateway_groups": "orders=weighted-sticky"}, {"gateway_listen": "127.0.0.1:0"}, {"gateway_groups": ""}]
)
def test_a_gateway_flag_makes_the_sidecar_a_gateway(flags):
    assert isinstance(role(flags), GatewayRole)


def test_a_gateway_variable_or_file_makes_the_sidecar_a_gateway(monkeypatch, tmp_path):
    assert isinstance(role(monkeypatch=monkeypatch, REBALANCE_AGENT_GATEWAY_PORT_BASE="0"), GatewayRole)
    monkeypatch.delenv("REBALANCE_AGENT_GATEWAY_PORT_BASE")
    (tmp_path / "sidecar.yaml").write_text("gateway_groups: orders=sticky\n")
    loaded = load(GatewaySettings, str(tmp_path / "sidecar.yaml"), {})
    assert without_unused_gateway(loaded).gateway_groups == "orders=sticky"


def test_variables_of_kubernetes_services_do_not_make_the_sidecar_a_gateway(monkeypatch):
    one = role(
        monkeypatch=monkeypatch,
        REBALANCE_AGENT_GATEWAY_PORT="tcp://10.0.0.1:29092",
        REBALANCE_AGENT_GATEWAY_SERVICE_HOST="10.0.0.1",
    )
    assert isinstance(one, Sidecar)


def test_a_sidecar_without_gateway_shows_its_own_settings():
    given = without_unused_gateway(load(GatewaySettings, None, {**FREE, "stop_seconds": "1", "kafka": KAFKA}))
    assert given == SidecarSettings(**FREE, stop_seconds=1, kafka=KAFKA)
    assert not [name for name in shown_settings(given)["settings"] if name.startswith("gateway")]


def test_a_gateway_that_cannot_start_ends_the_sidecar_with_two(capsys):
    assert main.main(["sidecar", "--listen", "127.0.0.1:0", "--gateway-groups", "orders=nothing"]) == 2
    assert capsys.readouterr().err.startswith("rebalance-agent sidecar: gateway_groups: rule 'orders=nothing'")


def test_a_gateway_must_not_use_the_sidecars_ports():
    for name in FREE:
        with pytest.raises(SettingsErrors, match=f"gateway_listen: must not use the same port as {name}"):
            load(GatewaySettings, None, {**FREE, name: "127.0.0.1:9000", "gateway_listen": "127.0.0.1:9000"})


def test_without_kafka_python_a_sidecar_runs_and_a_gateway_fails_with_a_remedy():
    script = (
        "import sys; sys.modules['kafka'] = None; from rebalance_agent.cli import main; "
        "raise SystemExit(main.main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "check", "--role", "sidecar", "--listen", "127.0.0.1:0"]
    free = ["--events-listen", "127.0.0.1:0"]
    alone = subprocess.run([*command, *free], capture_output=True, text=True, timeout=60, check=False)
    assert alone.returncode == 0, alone.stderr
    gateway = [*command, *free, "--gateway-listen", "127.0.0.1:0"]
    missing = subprocess.run(gateway, capture_output=True, text=True, timeout=60, check=False)
    assert missing.returncode == 2
    assert "pip install '.[gateway]'" in missing.stderr
    wrong = [*command[:3], "gateway", "--bootstrap-servers", "127.0.0.1:1", "--gateway-seats", "plain=obsrve"]
    refused = subprocess.run(wrong, capture_output=True, text=True, timeout=60, check=False)
    assert (refused.returncode, "did you mean observe" in refused.stderr) == (2, True)
