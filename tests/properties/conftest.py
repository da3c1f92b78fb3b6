"""Fixtures of all properties."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/properties/" in item.path.as_posix():
            # The same lines for hundreds of examples: unit tests count them, and counting takes longer than running.
            item.add_marker(pytest.mark.no_cover)
