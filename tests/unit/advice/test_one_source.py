"""`explain`, the page, `whatif` and the report give one history the same advice, for clients of each kind."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from html import unescape

import pytest

from rebalance_agent.advice import history_of, recommend
from rebalance_agent.api.groups_api import GroupsApi
from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.cli import main
from rebalance_agent.clock import FakeClock
from rebalance_agent.http.health import Readiness
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.event_json import json_line, value_to_json
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.runtime.listeners.web import WebApp
from rebalance_agent.ui.page.site import GroupPages, Site
from support.http.api import api_of
from support.http.asked import ask
from support.observer.views import NOW, full_view
from support.tracker.histories import clustered, on_hosts
from support.tracker.tracking import assigned

pd = pytest.importorskip("pandas")
pytest.importorskip("pyspark")


def of_clients(events, client_id):
    """Return the same history for members with this client id prefix, or with default client ids of a library."""

    def renamed(member):
        return replace(member, client_id=client_id.format(name=member.client_id))

    return [replace(event, members=tuple(map(renamed, event.members))) for event in events]


def slow(events):
    """In the last rebalance the group waited for its first member."""
    last = events[-1]
    return [*events[:-1], replace(last, slowest_member_id=last.members[0].member_id, slowest_seconds=1.9)]


def behind_a_gateway(events, software):
    """The same history, whose members a gateway reports: weighted-sticky for clients that have no such assignor."""
    last = replace(events[-1], assignor="weighted-sticky")
    reports = [
        replace(
            assigned(member.member_id, 0, 0, last.generation, ()).event,
            event_id=f"report-{number}",
            group=last.group,
            timestamp_ms=last.timestamp_ms,
            started_ms=last.timestamp_ms,
            client_id=member.client_id,
            evidence=Evidence.GATEWAY,
            software=software,
        )
        for number, member in enumerate(last.members)
    ]
    return [*(replace(each, assignor="weighted-sticky") for each in events), *reports]


def of_the_broker(events):
    return [replace(each, group_type=GroupType.CONSUMER, assignor="uniform") for each in events]


HISTORIES = {
    "unknown": clustered(8),
    "java": of_clients(clustered(8), "app-StreamThread-1-consumer"),
    "librdkafka": of_clients(clustered(8), "rdkafka"),
    "aiokafka": of_clients(clustered(8), "aiokafka-0.14.0"),
    "slow": slow(clustered(8)),
    "restarts": clustered(10, name="sticky", topics=3, away_s=1, stops=(0.1, 0.1)),
    "cooperative": clustered(8, name="cooperative-sticky", topics=3),
    "broker": of_the_broker(clustered(8, away_s=1)),
    "hosts": on_hosts(topics=20, rebalances=5),
    "cured": on_hosts("shuffled-roundrobin", hosts=2, each=2, topics=20, partitions=2, rebalances=5, late=1),
    "gateway": behind_a_gateway(clustered(8, name="sticky"), ClientSoftware("confluent-kafka-python", "2.16.1")),
    "gateway_eager": behind_a_gateway(clustered(8, name="sticky"), ClientSoftware("sarama", "1.45")),
    "foreign": [replace(each, assignor="theirs") for each in clustered(8)],
}


STRATEGY = {
    "aiokafka": "sticky",
    "hosts": "shuffled-roundrobin",
    "gateway": "cooperative-weighted-sticky",
    "gateway_eager": None,
    "cured": None,
    "cooperative": None,
    "broker": None,
    "foreign": None,
}


def printed(capsys, *arguments):
    assert main.main([*arguments]) == 0
    return capsys.readouterr().out


def explained(capsys):
    texts = json.loads(printed(capsys, "explain", "g", "--last", "1", "--json"))["text"]
    advice = [text.removeprefix("Advice: ") for text in texts if text.startswith("Advice: ")]
    return " ".join(advice[0].split()) if advice else ""


def on_the_page(events):
    history, clock = EpisodeHistory(), FakeClock(NOW)
    for event in events:
        history.on_event(event)
    api = GroupsApi(lambda: (full_view("g", running=None),), history, clock)
    pages = Site(Readiness(), groups=GroupPages(api, history, clock))
    _, _, body = ask(WebApp((), Readiness(), site=pages), "/group?name=g")
    html = body.decode()
    found = re.search(r"<strong>Advice</strong> (.*?)</p>", html, re.DOTALL)
    return unescape(found[1]) if found else ""


def in_the_report(events):
    from rebalance_agent.pipeline.tables.whatif_tables import read_studies, study_of  # noqa: PLC0415

    reported = {
        member_id: {
            "software": asdict(client.software),
            "instrumented": client.instrumented,
            "behind_gateway": client.behind_gateway,
            "member_id": member_id,
        }
        for member_id, client in history_of(events).clients.items()
    }
    events = [each for each in events if isinstance(each, GenerationEvent)]
    bodies = [json_line(each).decode() for each in events]
    rows = pd.DataFrame(
        {
            "event_id": [each.event_id for each in events],
            "generation": [each.generation for each in events],
            "body": bodies,
            "leads": False,
            "instrumented": False,
            "largest": max(map(len, bodies)),
            "clients": [*[None] * (len(events) - 1), json.dumps([*reported.values()])],
        }
    )
    text = json.dumps(value_to_json(study_of("c", "g", rows)))
    return recommend(read_studies(pd.DataFrame({"chunk": [0], "study": [text]})).whatif)


@pytest.mark.parametrize("name", HISTORIES)
def test_all_four_give_the_same_advice(name, capsys, monkeypatch):
    events = HISTORIES[name]
    api, *_ = api_of(full_view("g", running=None), events=events)
    for module in ("commands.explain", "inputs.whatif_past"):
        monkeypatch.setattr(f"rebalance_agent.cli.{module}.agent_api", lambda _options: api)
    for module in ("explain", "whatif"):
        monkeypatch.setattr(f"rebalance_agent.cli.commands.{module}.quiet_logs", lambda: None)
    report = in_the_report(events)
    compared = json.loads(printed(capsys, "whatif", "g", "--json"))["recommendation"]
    assert compared["sentence"] == report.sentence
    advice = report.sentence if report.advises else ""
    assert explained(capsys) == advice
    assert on_the_page(events) == advice
    assert report.strategy == STRATEGY.get(name, "cooperative-sticky")
    assert report.advises is (name not in {"cooperative", "cured", "gateway_eager"})
    assert ("A gateway runs weighted-sticky for the members." in report.sentence) is (name == "gateway")
    assert ("cooperative-sticky is not recommended: " in report.sentence) is (name == "cured")
