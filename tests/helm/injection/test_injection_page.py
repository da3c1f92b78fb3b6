"""docs/reference/injection.md lists every annotation; docs/inject-a-sidecar.md shows a pod of the API server."""

import re
from pathlib import Path

import pytest
import yaml

from support.cluster.control_plane import RefusedError
from support.helm.injecting import INJECT, annotated, container, injecting, pod
from support.helm.rendered import CHART

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "inject-a-sidecar.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "reference" / "injection.md").read_text(encoding="utf-8")


def settings_named():
    """The names in the first column of the table of settings."""
    table = REFERENCE.partition("| annotation, parameter |")[2].partition("\n\n")[0]
    return re.findall(r"`([a-z-]+)`", " ".join(line.split("|")[1] for line in table.splitlines()[2:]))


def test_the_page_lists_every_annotation():
    assert sorted(settings_named()) == sorted(yaml.safe_load((CHART / "files" / "injection.yaml").read_text()))


@pytest.fixture(scope="module")
def release(api_server):
    with injecting(api_server) as release:
        yield release


def within(shown, made):
    """Whether everything shown is in the pod in the same order; the page omits the API server's defaults."""
    if isinstance(shown, dict):
        return isinstance(made, dict) and all(within(value, made.get(key)) for key, value in shown.items())
    if isinstance(shown, list):
        return isinstance(made, list) and len(shown) == len(made) and all(map(within, shown, made))
    return shown == made


def test_the_shown_pod_is_real(release):
    shown = yaml.safe_load(PAGE.partition("```yaml\n")[2].partition("```")[0])
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "orders-7f5d", "uid": "a", "controller": True}
    labels = {INJECT: "true", "pod-template-hash": "7f5d"}
    made = release.admitted(release.namespace(), pod(container(), labels=labels, owners=[owner]))
    assert within(shown, made), yaml.safe_dump(made)


def orders():
    """The workload whose warnings the page shows."""
    made = annotated(loglevel="debug", memory_limit="64", image="consumer:8")
    made["spec"]["containers"] = [container(ports=[{"containerPort": 29308}])]
    template = {"metadata": {**made["metadata"], "labels": {INJECT: "true", "app": "orders"}}, "spec": made["spec"]}
    spec = {"selector": {"matchLabels": {"app": "orders"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "orders"}, "spec": spec}


def test_the_shown_warnings_for_a_workload_are_real(release):
    shown = re.findall(r"^Warning: .* with binding '[a-z-]+': (.*)$", PAGE, re.MULTILINE)
    assert release.warnings(release.namespace(), orders()) == shown


def test_the_shown_error_for_a_rejected_workload_is_real(api_server):
    (shown,) = re.findall(r"^The deployments .* denied request: (.*)$", PAGE, re.MULTILINE)
    with injecting(api_server, "injection.badAnnotations=Deny") as strict:
        workload = orders()
        template = workload["spec"]["template"]
        for name in ("loglevel", "image"):
            del template["metadata"]["annotations"][f"rebalance-agent/{name}"]
        template["spec"]["containers"] = [container()]
        with pytest.raises(RefusedError, match=re.escape(f"denied request: {shown}")):
            strict.admitted(strict.namespace(), workload)
