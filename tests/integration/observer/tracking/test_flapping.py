"""A member that leaves and rejoins repeatedly, on the session's broker."""

from __future__ import annotations

import json
import uuid

import pytest

from rebalance_agent.tracking.patterns.flapping import RETURNS
from support.observer.observing import create_topic, events, eventually, members, observing

pytestmark = pytest.mark.integration


def test_only_the_member_in_a_crash_loop_is_reported(kafka):
    bootstrap, unique = kafka.bootstrap_servers, uuid.uuid4().hex[:8]
    topic, group, published = f"topic-{unique}", f"crashing-{unique}", f"events-{unique}"
    create_topic(bootstrap, topic, 4)
    with (
        observing(bootstrap, events_topic=published) as watched,
        members(bootstrap, group, topic, **{"client.id": "steady"}),
    ):
        shown = lambda name: watched.metric(f"kafka_rebalance_{name}", consumergroup=group)  # noqa: E731
        for _ in range(1 + RETURNS):
            assert not shown("flapping_members")
            with members(bootstrap, group, topic, **{"client.id": "crash-loop"}):
                eventually(lambda: shown("members") == 2)
            eventually(lambda: shown("members") == 1)
        eventually(lambda: shown("flapping_members") == 1)
        _, text = watched.get(f"/api/v1/groups/{group}")
        assert json.loads(text)["summary"]["flapping"] == ["crash-loop"]
        named = lambda: [each.get("flapping") for each in events(bootstrap, published, group=group)]  # noqa: E731
        eventually(lambda: ["crash-loop"] in named())
        assert {tuple(each) for each in named() if each} == {("crash-loop",)}
