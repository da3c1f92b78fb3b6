"""A real API server accepts everything the chart renders, in namespaces with the strictest profile."""

import json
import shutil

import pytest
import yaml

from support.cluster.control_plane import documents
from support.helm.rendered import CHART, EXAMPLES, SPARK, bare_pods, chosen, example_name, objects

RELEASE = "one"
CONNECTED = ("--validate", "--dry-run=server")  # the server determines the API versions

examples = pytest.mark.parametrize("example", EXAMPLES, ids=example_name)


@pytest.fixture
def render(api_server, namespace, restricted):
    """Renders for this API server, and creates requirements: namespaces and service accounts."""

    def rendered(*arguments):
        text = api_server.helm("template", RELEASE, CHART, "--namespace", namespace, *CONNECTED, *arguments)
        found = objects(text)
        for each in found:
            restricted(each["metadata"].get("namespace", namespace))
        accounts = [each for each in found if each["kind"] == "ServiceAccount"]
        if accounts:
            api_server.kubectl("create", "--filename", "-", stdin=documents(accounts))
        return found

    return rendered


@examples
def test_every_object_is_accepted_without_a_warning(api_server, namespace, render, example):
    # The account exists already but was not created by `apply`, of which kubectl would warn.
    rendered = [each for each in render(*chosen(example)) if each["kind"] != "ServiceAccount"]
    assert len(api_server.dry_run(rendered, namespace)) == len(rendered) > 0


def test_every_spark_application_is_accepted_without_a_warning(api_server, namespace, render, tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(SPARK))
    rendered = [each for each in render("--values", values) if each["kind"] == "ScheduledSparkApplication"]
    assert len(api_server.dry_run(rendered, namespace)) == len(rendered) > 3


@examples
def test_every_pod_may_start_under_the_profile_restricted(api_server, namespace, render, example):
    pods = list(bare_pods(render(*chosen(example))))
    assert len(api_server.dry_run(pods, namespace)) == len(pods)


@examples
def test_a_release_can_be_upgraded_and_is_removed_by_uninstall(api_server, namespace, restricted, tmp_path, example):
    def helm(*arguments):
        return api_server.helm(*arguments, "--namespace", namespace)

    restricted("monitoring")
    helm("install", RELEASE, CHART, *chosen(example))
    changed = ("--set", "image.tag=later", "--set", "commonLabels.a=b")
    helm("upgrade", RELEASE, later(tmp_path), *chosen(example), *changed)
    mine = objects(helm("get", "manifest", RELEASE))
    assert remaining(api_server, mine, namespace) == names(mine)
    helm("uninstall", RELEASE)

    kept = [each for each in mine if each["metadata"].get("annotations", {}).get("helm.sh/resource-policy") == "keep"]
    assert remaining(api_server, mine, namespace) == names(kept)


def later(folder):
    """A copy of the chart as a later version."""
    chart = shutil.copytree(CHART, folder / CHART.name)
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    about |= {"version": "99.0.0", "appVersion": "99.0.0"}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about))
    return chart


def names(manifests):
    return {(each["kind"], each["metadata"]["name"]) for each in manifests}


def remaining(api_server, manifests, namespace):
    """Names of the remaining objects that no controller will remove."""
    placed = [{**each, "metadata": {"namespace": namespace, **each["metadata"]}} for each in manifests]
    command = ("get", "--filename", "-", "--ignore-not-found", "--output", "json")
    text = api_server.kubectl(*command, stdin=documents(placed))
    found = json.loads(text) if text else {"items": []}
    return names(each for each in found.get("items", [found]) if "deletionTimestamp" not in each["metadata"])
