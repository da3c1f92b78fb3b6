"""Fixtures of all properties."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/properties/" in item.path.as_posix():
            # The same lines for hundreds of examples: unit tests cover them, and coverage takes longer than the tests.
            item.add_marker(pytest.mark.no_cover)
