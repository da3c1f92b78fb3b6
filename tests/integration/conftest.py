"""Fixtures of tests with real clients and browsers."""

from __future__ import annotations

from pathlib import Path

import pytest

import support.kafka.closed_sockets  # noqa: F401 - for what it mends
from support.browsers.browsing import browser
from support.browsers.fleet_page import EVIL, FleetPage, served

HERE = Path(__file__).parent

# The longest, so that no process is left alone with one in the end; and some read all that the session's broker has in
# its offsets topic, again and again: of that there is least at first.
FIRST = (
    "test_verify.py",
    "test_scenarios.py",
    "test_demo.py",
    "test_page_in_adversity.py",
    "test_coordinator_model.py",
)


def pytest_collection_modifyitems(items):
    order = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)) if HERE in item.path.parents else len(order))


@pytest.fixture(scope="module")
def chromium():
    """A browser that the tests of a module look at their pages with."""
    with browser() as mine:
        yield mine


@pytest.fixture(scope="module")
def fleet():
    """Groups that never lived, for the agent's own page; one of them has a name that means harm."""
    return FleetPage(rename={3: EVIL})


@pytest.fixture(scope="module")
def address(fleet):
    """Where that page is."""
    with served(fleet.app()) as url:
        yield url
