"""Fixtures of the tests with real clients behind a gateway."""

from support.seats.seat_fixtures import joined, joined_and_killed, topic  # noqa: F401 - fixtures
