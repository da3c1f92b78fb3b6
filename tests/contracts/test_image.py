"""The images and the compose file hold what the repository says elsewhere: versions, hashes, names of files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

import rebalance_agent
from support.kube_tools import module

ROOT = Path(__file__).parents[2]
LOCKS = ("agent", "build", "pipeline")
ONLY_OF_THE_IMAGE = {"setuptools", "wheel"}  # pip brings its own to who develops

COMPOSE_SPECIFICATION = (
    "github.com/compose-spec/compose-go/v2@v2.9.0",
    "h1:UHSv/QHlo6QJtrT4igF1rdORgIUhDo1gWuyJUoiNNIM=",
)
"""The Go module that holds the specification's JSON schema, and what it hashes to; nothing of it is built."""


def locked(name: str) -> dict[str, str]:
    """Version by package; a package that has one for each Python has the last of them."""
    text = (ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9][\w.-]*)==(\S+)", text, re.MULTILINE))


def compose() -> dict:
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LOCKS)
def test_an_image_is_made_of_the_versions_that_are_tested(name):
    tested = locked("dev")
    assert {package: version for package, version in locked(name).items() if tested.get(package) != version}.keys() <= (
        ONLY_OF_THE_IMAGE
    )


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_of_an_image_has_its_hashes_and_no_address(name):
    text = (ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    assert "://" not in text
    for entry in re.split(r"\n(?=[a-z0-9])", text):
        assert "--hash=sha256:" in entry, entry


def test_the_images_label_says_the_packages_version():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f"ARG VERSION={rebalance_agent.__version__}\n" in text


def test_what_the_images_are_made_of_gets_past_the_ignore_file():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert "*" in lines
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if line.startswith("COPY ") and "--from=" not in line:
            *sources, _ = line.split()[1:]
            for source in sources:
                assert (ROOT / source).exists(), source
                assert source in let_in or f"{Path(source).parent}/*{Path(source).suffix}" in let_in, source


def test_what_compose_mounts_is_there():
    volumes = [each for service in compose()["services"].values() for each in service.get("volumes", ())]
    mounted = [ROOT / each.partition(":")[0] for each in volumes if each.startswith("./")]
    assert len(mounted) >= 5
    assert [str(path) for path in mounted if not path.exists()] == []


def test_prometheus_of_compose_scrapes_every_agent_and_no_other():
    config = yaml.safe_load((ROOT / "compose" / "prometheus.yaml").read_text(encoding="utf-8"))
    targets = {
        target for job in config["scrape_configs"] for each in job["static_configs"] for target in each["targets"]
    }
    agents = {
        f"{name}:29308"
        for name, service in compose()["services"].items()
        if service.get("command", [""])[0] in {"observe", "sidecar"}
    }
    assert agents == {target for target in targets if target.endswith(":29308")}


def test_compose_builds_its_image_once():
    services = compose()["services"].values()
    (built,) = (each["image"] for each in services if "build" in each)
    assert built in {each["image"] for each in services if "build" not in each}


def test_each_consumer_of_compose_has_a_sidecar_of_its_own():
    services = compose()["services"]
    networks = [service["network_mode"] for name, service in services.items() if name.startswith("consumer-")]
    assert sorted(networks) == sorted(f"service:{name}" for name in services if name.startswith("sidecar-"))


def test_compose_is_what_its_specification_allows():
    schema = json.loads((module(*COMPOSE_SPECIFICATION) / "schema" / "compose-spec.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(compose())  # what the schema calls itself, jsonschema does not know
