"""docs/inject-a-sidecar.md shows what there is: every annotation, and a pod as the API server makes it."""

import re
from pathlib import Path

import pytest
import yaml

from support.injecting import INJECT, container, injecting, pod
from support.rendered import CHART

PAGE = (Path(__file__).parents[2] / "docs" / "inject-a-sidecar.md").read_text(encoding="utf-8")


def settings_named():
    """What the first column of the table of settings names."""
    table = PAGE.partition("| annotation, parameter |")[2].partition("\n\n")[0]
    return re.findall(r"`([a-z-]+)`", " ".join(line.split("|")[1] for line in table.splitlines()[2:]))


def test_it_names_every_annotation():
    assert sorted(settings_named()) == sorted(yaml.safe_load((CHART / "files" / "injection.yaml").read_text()))


@pytest.fixture(scope="module")
def release(api_server):
    with injecting(api_server) as release:
        yield release


def within(shown, made):
    """Whether all that is shown is made, in the same order; what the API server adds by default is not shown."""
    if isinstance(shown, dict):
        return isinstance(made, dict) and all(within(value, made.get(key)) for key, value in shown.items())
    if isinstance(shown, list):
        return isinstance(made, list) and len(shown) == len(made) and all(map(within, shown, made))
    return shown == made


def test_the_pod_it_shows_is_made(release):
    shown = yaml.safe_load(PAGE.partition("```yaml\n")[2].partition("```")[0])
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "orders-7f5d", "uid": "a", "controller": True}
    labels = {INJECT: "true", "pod-template-hash": "7f5d"}
    made = release.admitted(release.namespace(), pod(container(), labels=labels, owners=[owner]))
    assert within(shown, made), yaml.safe_dump(made)
