"""Fixtures of tests with one release of the chart; each file has its own fixture ``release``."""

from __future__ import annotations

import pytest

from support.helm.injecting import pod


@pytest.fixture(scope="module")
def namespace(release):
    return release.namespace()


@pytest.fixture(scope="module")
def plain(release, namespace):
    """The result for a pod without annotations."""
    return release.admitted(namespace, pod())["spec"]
