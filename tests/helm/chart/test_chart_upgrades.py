"""Upgrades that change immutable or sensitive fields, on a real API server."""

import json

import pytest

from support.helm.chart import one, template
from support.helm.rendered import CHART


@pytest.fixture
def release(api_server, namespace):
    """Installs or upgrades with values; returns the resulting Deployment."""

    def changed(**values):
        sets = [part for key, value in values.items() for part in ("--set", f"{key.replace('__', '.')}={value}")]
        api_server.helm("upgrade", "--install", "--reset-values", "watch", CHART, "--namespace", namespace, *sets)
        found = api_server.kubectl("get", "deployment", "watch-rebalance-agent", "-n", namespace, "-o", "json")
        return json.loads(found)["spec"]

    return changed


def test_one_observer_can_be_scaled_up_and_down_again(release):
    assert release()["strategy"] == {"type": "Recreate"}
    assert release(observer__replicas=2)["strategy"]["type"] == "RollingUpdate"
    assert release()["strategy"] == {"type": "Recreate"}


def test_one_observer_can_be_scaled_with_server_side_apply(api_server, namespace):
    for replicas in (1, 2, 1):
        made = one("Deployment", template({"observer": {"replicas": replicas}, "namespaceOverride": namespace}))
        api_server.kubectl("apply", "--server-side", "--field-manager=flux", "--filename=-", stdin=json.dumps(made))


def test_additional_labels_do_not_change_the_selector(release):
    before = release()
    after = release(commonLabels__team="a", observer__podLabels__zone="b")
    assert after["selector"] == before["selector"]
    assert after["template"]["metadata"]["labels"]["team"] == "a"
