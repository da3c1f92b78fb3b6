"""Fixtures of the tests of gateways that need minutes."""

from support.seats.seat_fixtures import joined, joined_and_killed, topic  # noqa: F401 - fixtures
