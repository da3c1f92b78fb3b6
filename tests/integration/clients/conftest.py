"""Fixtures of tests with instrumented clients."""

from __future__ import annotations

import pytest

from support.observer.sidecars import Sidecar


@pytest.fixture
def sidecar():
    with Sidecar() as taking:
        yield taking
