"""compose.yaml is valid, and its files, services, flags and settings exist.

It needs no Docker and starts nothing; images of others are not checked.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from rebalance_agent.cli.commands import observe, sidecar
from rebalance_agent.runtime.settings.flags import flag_values
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings
from rebalance_agent.runtime.settings.settings_sources import load
from support.charts.promtool import PROMTOOL
from support.cluster.kube_tools import module

ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
AGENTS = {"observe": (observe, ObserverSettings), "sidecar": (sidecar, SidecarSettings)}

COMPOSE_SPECIFICATION = (
    "github.com/compose-spec/compose-go/v2@v2.9.0",
    "h1:UHSv/QHlo6QJtrT4igF1rdORgIUhDo1gWuyJUoiNNIM=",
)
"""The Go module with the specification's JSON schema, and its checksum; it is not built."""


def mounted(service: str) -> dict[str, Path]:
    """Files and folders of the repository, by their path in a container."""
    binds = [each.split(":") for each in SERVICES[service].get("volumes", ()) if each.startswith("./")]
    return {inside: ROOT / outside for outside, inside, *_ in binds}


def agents() -> dict[str, list[str]]:
    """Commands of the containers whose entry point is the agent's own, by service."""
    built = SERVICES["observer"]["image"]
    return {
        name: each["command"] for name, each in SERVICES.items() if each["image"] == built and "entrypoint" not in each
    }


def test_mounted_files_exist():
    paths = [path for service in SERVICES for path in mounted(service).values()]
    assert len(paths) >= 5
    assert [str(path) for path in paths if not path.exists()] == []


def test_prometheus_of_compose_scrapes_every_agent_and_no_other():
    config = yaml.safe_load((ROOT / "compose" / "prometheus.yaml").read_text(encoding="utf-8"))
    targets = {
        target for job in config["scrape_configs"] for each in job["static_configs"] for target in each["targets"]
    }
    assert {f"{name}:29308" for name in agents()} == {target for target in targets if target.endswith(":29308")}


def test_compose_builds_its_image_once():
    (built,) = (each["image"] for each in SERVICES.values() if "build" in each)
    assert built in {each["image"] for each in SERVICES.values() if "build" not in each}


def test_each_consumer_of_compose_has_its_own_sidecar():
    networks = [service["network_mode"] for name, service in SERVICES.items() if name.startswith("consumer-")]
    assert sorted(networks) == sorted(f"service:{name}" for name in SERVICES if name.startswith("sidecar-"))


def test_the_images_of_others_have_a_tag_that_can_be_pinned_to_a_digest():
    others = {each["image"] for each in SERVICES.values()} - {SERVICES["observer"]["image"]}
    assert len(others) == 3
    assert [
        image for image in others if not re.fullmatch(r"[a-z/]+:\$\{[A-Z]+_VERSION:-v?\d+\.\d+\.\d+\}", image)
    ] == []


def test_compose_is_valid_by_its_specification():
    schema = json.loads((module(*COMPOSE_SPECIFICATION) / "schema" / "compose-spec.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(COMPOSE)  # jsonschema does not know the schema's own dialect


def test_required_services_exist_and_have_health_checks():
    for service in SERVICES.values():
        for needed, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            assert "healthcheck" in SERVICES[needed]


@pytest.mark.parametrize(("service", "command"), agents().items())
def test_agents_accept_their_commands(service, command):
    cli, settings = AGENTS[command[0]]
    parser = argparse.ArgumentParser()
    cli.add_parser(parser.add_subparsers())
    taken = load(settings, None, flag_values(parser.parse_args(command), settings))
    host, _, port = taken.kafka["bootstrap.servers"].partition(":")
    assert f"://{host}:{port}" in SERVICES[host]["environment"]["KAFKA_ADVERTISED_LISTENERS"]


def test_consumers_accept_their_arguments():
    for name in SERVICES:
        if name.startswith("consumer-"):
            _, program = SERVICES[name]["entrypoint"]
            folder, _, script = program.rpartition("/")
            text = (mounted(name)[folder] / script).read_text(encoding="utf-8")
            flags = {each for each in SERVICES[name]["command"] if each.startswith("--")}
            assert flags <= set(re.findall(r'add_argument\("(--[a-z-]+)"', text))


def test_grafana_has_the_paths_of_boards_and_prometheus():
    inside = mounted("grafana")
    read = {Path(path).parent.name: yaml.safe_load(file.read_text()) for path, file in inside.items() if file.is_file()}
    (provider,) = read["dashboards"]["providers"]
    boards = inside[provider["options"]["path"]]
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home.startswith(provider["options"]["path"])
    assert (boards / Path(home).name).exists()
    (source,) = read["datasources"]["datasources"]
    assert source["url"] == "http://prometheus:9090"


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool: run by `make test`, or set REBALANCE_AGENT_PROMTOOL")
def test_prometheus_accepts_its_configuration_and_rules(tmp_path):
    inside = mounted("prometheus")
    (given,) = (
        each.partition("=")[2] for each in SERVICES["prometheus"]["command"] if each.startswith("--config.file=")
    )
    config = inside.pop(given).read_text(encoding="utf-8")
    for path, folder in inside.items():
        config = config.replace(f"{path}/", f"{folder}/")
    written = tmp_path / "prometheus.yaml"
    written.write_text(config)
    done = subprocess.run([PROMTOOL, "check", "config", written], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(list((ROOT / 'alerts' / 'rules').glob('*.rules.yaml')))} rule files found" in done.stdout
