"""A sidecar that is also a gateway: one process does both, and `check` reports its settings beforehand."""

from __future__ import annotations

import json
import uuid

import pytest

from rebalance_agent.cli import main
from rebalance_agent.cli.commands import sidecar
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Callback, MemberEvent
from rebalance_agent.model.group_event import process_event_id
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.settings_sources import load
from support.gateway.gatewaying import free_base
from support.gateway.running import Plain
from support.observer.observing import create_topic, events, eventually, http, running

pytestmark = pytest.mark.integration


def posted(group):
    return MemberEvent(
        event_id=process_event_id(MemberEvent.KIND, "instrumented", 1),
        group=group,
        timestamp_ms=2,
        callback=Callback.ASSIGNED,
        client_id="instrumented",
        member_id="m",
        generation=1,
        started_ms=1,
        partitions={"t": (0,)},
        process="instrumented",
        sequence=1,
    )


def test_members_behind_a_sidecar_gateway_and_posting_members_are_reported_and_published(kafka, capsys):
    group, topic, reported = (f"{word}-{uuid.uuid4().hex[:8]}" for word in ("both", "both-topic", "both-events"))
    create_topic(kafka.bootstrap_servers, topic, 4)
    flags = {
        "listen": "127.0.0.1:0",
        "events_listen": "127.0.0.1:0",
        "events_topic": reported,
        "kafka": {"bootstrap.servers": kafka.bootstrap_servers},
        "gateway_listen": "127.0.0.1:0",
        "gateway_port_base": str(free_base()),
        "gateway_groups": f"{group}=weighted-sticky",
        "gateway_drain_seconds": "0",
    }
    words = [word for name, text in flags.items() if name != "kafka" for word in (f"--{name.replace('_', '-')}", text)]
    assert (
        main.main(["check", "--role", "sidecar", "--json", "--bootstrap-servers", kafka.bootstrap_servers, *words]) == 0
    )
    checks = {each["name"]: each["status"] for each in json.loads(capsys.readouterr().out)["checks"]}
    assert {checks[f"gateway to {name}"] for name in (kafka.bootstrap_servers, "broker 1")} == {"ok"}
    assert checks[f"port {int(flags['gateway_port_base']) + 1} of broker 1"] == "ok"
    with running(sidecar._role(load(GatewaySettings, None, flags), dict(flags["kafka"]))) as watched:
        eventually(watched.ready)
        member = Plain(f"127.0.0.1:{watched.role.gateway_port}", group, topic, **{"client.id": "app"})
        try:
            eventually(lambda: len(member.owned) == 4)
            url = f"http://127.0.0.1:{watched.role.events_port}/v1/events"
            assert http(url, json_line(posted("posting")))[0] == 200
            eventually(
                lambda: (
                    watched.metric("kafka_rebalance_member_assigned_total", consumergroup=group, client_id="app") == 4
                )
            )
            assert (
                watched.metric(
                    "kafka_rebalance_member_assigned_total", consumergroup="posting", client_id="instrumented"
                )
                == 1
            )
            assert watched.metric("rebalance_agent_gateway_group_frames_total", outcome="assigned") == 1
            assert watched.metric("rebalance_agent_gateway_brokers_shut") == 0
            # The first unread frame, such as a Fetch, may come after all frames of the group.
            passed = "rebalance_agent_gateway_pass_seconds_count"
            for direction in ("requests", "answers"):
                eventually(lambda direction=direction: watched.metric(passed, direction=direction) > 0)
        finally:
            member.close()
        for each in ("posting", group):
            eventually(lambda name=each: events(kafka.bootstrap_servers, reported, group=name))
