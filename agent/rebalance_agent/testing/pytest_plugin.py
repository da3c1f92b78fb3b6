"""Pytest fixtures: ``pytest_plugins = ["rebalance_agent.testing.pytest_plugin"]`` in the top ``conftest.py``.

``kafka`` is one broker for the whole session, so each test needs its own topic and group names. A test that stops
brokers or needs other settings uses `EmbeddedKafka` directly. If a test fails, the broker's log is kept, and pytest's
summary has the log's path.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rebalance_agent.testing.kafka.embedded import EmbeddedKafka

__all__ = ["kafka", "pytest_terminal_summary"]

_KEPT: pytest.StashKey[Path] = pytest.StashKey()


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest) -> Iterator[EmbeddedKafka]:
    """Yield a broker that all tests of the session share; the first test that uses the broker starts it."""
    with EmbeddedKafka() as cluster:
        yield cluster
        if request.session.testsfailed:
            cluster.keep_logs = True
            request.config.stash[_KEPT] = cluster.directory


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the path of the broker's log, if the log was kept."""
    kept = config.stash.get(_KEPT, None)
    if kept is not None:
        terminalreporter.write_line(f"embedded Kafka: the broker's log is kept in {kept}")
