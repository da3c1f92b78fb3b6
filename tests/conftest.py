"""The shared broker for every test with the fixture ``kafka``, and checks around every test."""

import logging

import pytest
import structlog

from support.examples import register_profiles

pytest_plugins = ["rebalance_agent.testing.pytest_plugin", "support.charts.live_prometheus", "support.runner.shares"]

register_profiles()


@pytest.fixture(autouse=True)
def logging_as_it_was():
    """What a command sets up for its logs ends with the test: its stream is the test's, and closed afterwards."""
    root = logging.getLogger()
    before = root.handlers, root.level
    yield
    root.handlers, root.level = before
    structlog.reset_defaults()
