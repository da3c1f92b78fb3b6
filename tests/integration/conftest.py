"""What tests with real clients and browsers share."""

from __future__ import annotations

import pytest

import support.kafka.closed_sockets  # noqa: F401 - for what it mends
from support.browsers.browsing import browser
from support.browsers.fleet_page import EVIL, FleetPage, served


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
