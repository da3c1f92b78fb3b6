"""What the tests of one release of the chart share; each file has a fixture ``release`` of its own."""

from __future__ import annotations

import pytest

from support.helm.injecting import pod


@pytest.fixture(scope="module")
def namespace(release):
    return release.namespace()


@pytest.fixture(scope="module")
def plain(release, namespace):
    """What is made of a pod that says nothing."""
    return release.admitted(namespace, pod())["spec"]
