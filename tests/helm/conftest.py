"""One real API server for all chart tests with ``api_server``; it has the monitoring resources."""

from __future__ import annotations

import functools
import itertools
import os
import shutil

import pytest

from support.cluster.control_plane import ControlPlane
from support.cluster.kube_tools import operator_definitions, spark_definitions

NUMBERS = itertools.count(1)
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}


@pytest.hookimpl(tryfirst=True)  # before pytest selects by markers
def pytest_collection_modifyitems(items):
    for item in items:
        if "api_server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.api_server)


@pytest.fixture(scope="session")
def api_server(tmp_path_factory):
    """A running `ControlPlane` that has the resources of the operators of Prometheus and Spark."""
    if shutil.which("openssl") is None:
        assert os.environ.get("CI") != "true", "openssl makes the certificates"
        pytest.skip("openssl makes the certificates")
    with ControlPlane(tmp_path_factory.mktemp("api-server")) as server:
        # Server-side apply, because some are too large for an annotation of client-side apply.
        for definitions in (operator_definitions(), spark_definitions()):
            server.kubectl("apply", "--server-side", "-f", definitions)
        server.kubectl("wait", "--for=condition=Established", "customresourcedefinitions", "--all", "--timeout=60s")
        yield server


@pytest.fixture(scope="session")
def restricted(api_server):
    """Creates a namespace once, which enforces and warns of the profile `restricted`."""

    @functools.cache
    def make(name):
        api_server.add_namespace(name, RESTRICTED)
        return name

    return make


@pytest.fixture
def namespace(restricted):
    """The name of the test's own namespace with that profile."""
    return restricted(f"tests-{next(NUMBERS)}")
