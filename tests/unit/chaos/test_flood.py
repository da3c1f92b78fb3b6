"""The flood contains valid posts besides nonsense, so that the endpoint must process some of it."""

from __future__ import annotations

from chaos.faults.flood import EVENTS_A_POST, HELD, post
from rebalance_agent.api.events_settings import EventsSettings
from rebalance_agent.api.posted_events import parse_events
from rebalance_agent.http.connections.connection import Limits


def test_posted_events_of_the_flood_are_valid_and_within_the_limits():
    body = post()
    assert len(parse_events(body.splitlines())) == EVENTS_A_POST <= EventsSettings().lines_max
    assert len(body) <= EventsSettings().body_bytes_max


def test_the_flood_holds_more_connections_than_a_listener_allows():
    assert Limits().connections < HELD
