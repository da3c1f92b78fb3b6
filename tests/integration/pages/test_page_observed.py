"""The agent's page with real members: an open browser shows a join, and a sidecar's page its consumer."""

from __future__ import annotations

import json
import uuid

import pytest

from rebalance_agent.ui.page.group_list import group_link
from support.browsers.browsing import browser, needs_chromium
from support.browsers.fleet_page import TEXT
from support.observer.observing import beside, create_topic, eventually, http, members, observing

pytestmark = [pytest.mark.integration, needs_chromium]
MARKS = "[...document.querySelectorAll('.roomy .trigger')].map((each) => each.dataset.t)"


def test_an_open_page_shows_changes_of_a_group(kafka):
    unique = uuid.uuid4().hex[:8]
    bootstrap, topic, group = kafka.bootstrap_servers, f"topic-{unique}", f"<script>evil()</script> {unique}"
    create_topic(bootstrap, topic, 4)
    with observing(bootstrap, settle_seconds=0.2, groups_allow=f".*{unique}") as watched, browser() as chromium:
        url = f"http://127.0.0.1:{watched.role.port}/"
        chromium.open(url)
        assert "No groups yet" in chromium.run(TEXT)
        with members(bootstrap, group, topic, **{"client.id": f"first-{unique}"}):
            eventually(lambda: group in chromium.run(TEXT))
            chromium.open(url + group_link(group))
            eventually(lambda: len(chromium.run(MARKS)) == 1)
            with members(bootstrap, group, topic, **{"client.id": f"second-{unique}"}):
                eventually(lambda: any("member joined" in mark for mark in chromium.run(MARKS)))
                tips = chromium.run("[...document.querySelectorAll('svg [data-t]')].map((each) => each.dataset.t)")
                assert any(f"second-{unique}: 2 partitions" in tip for tip in tips)
                assert f"second-{unique} (127.0.0.1) joined." in chromium.run(TEXT)
        eventually(lambda: "The group has no members now" in chromium.run(TEXT))
        assert chromium.run("document.querySelector('h1').textContent") == group
        assert chromium.problems == []


def test_a_sidecar_shows_its_consumers():
    event = {
        "kind": "member",
        "schema_version": 1,
        "event_id": "1" * 32,
        "group": "orders",
        "timestamp_ms": 1_700_000_000_000,
        "callback": "assigned",
        "client_id": "<b>orders-1</b>",
        "member_id": "m1",
        "generation": 3,
        "started_ms": 1_700_000_000_000,
        "partitions": {"orders": "0-3"},
        "process": "p1",
        "sequence": 1,
    }
    with beside(None) as watched, browser() as chromium:
        url = f"http://127.0.0.1:{watched.role.port}/"
        chromium.open(url)
        assert "No consumer is in a group" in chromium.run(TEXT)
        posted = http(f"http://127.0.0.1:{watched.role.events_port}/v1/events", json.dumps(event).encode())
        assert posted[0] < 300, posted
        eventually(lambda: "<b>orders-1</b>" in chromium.run(TEXT))
        assert "orders 0-3" in chromium.run(TEXT)
        assert chromium.problems == []
