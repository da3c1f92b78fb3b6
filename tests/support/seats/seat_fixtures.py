"""Fixtures of the tests with real clients in groups with seats."""

from __future__ import annotations

import itertools

import pytest

from support.gateway.gateway_members import joining
from support.gateway.seat_groups import PARTITIONS
from support.observer.observing import create_topic

NUMBER = itertools.count(1)


@pytest.fixture
def topic(kafka):
    """A new topic for a test's group."""
    name = f"seats-{next(NUMBER)}"
    create_topic(kafka.bootstrap_servers, name, PARTITIONS)
    return name


@pytest.fixture
def joined():
    """A function that starts members, which are closed at the end."""
    with joining() as join:
        yield join


@pytest.fixture
def joined_and_killed():
    """Like `joined`, for members that are killed and revoke nothing: a partition may have two owners."""
    with joining(alone=False) as join:
        yield join
