"""Fixtures of tests with real clients and browsers."""

from __future__ import annotations

from pathlib import Path

import pytest

import support.kafka.closed_sockets
import support.members.message_classes  # noqa: F401 - for its effect
from support.browsers.browsing import browser
from support.browsers.fleet_page import EVIL, FleetPage, served

HERE = Path(__file__).parent

# The longest tests run first, so that no process runs one of them alone at the end. Some also repeatedly read the whole
# offsets topic of the session's broker, which is shortest at first.
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
    """A browser for the tests of a module."""
    with browser() as mine:
        yield mine


@pytest.fixture(scope="module")
def fleet():
    """Synthetic groups for the agent's page; one of them has a malicious name."""
    return FleetPage(rename={3: EVIL})


@pytest.fixture(scope="module")
def address(fleet):
    """The URL of that page."""
    with served(fleet.app()) as url:
        yield url
