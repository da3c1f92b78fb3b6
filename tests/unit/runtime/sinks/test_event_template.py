"""Events to a webhook in another form, and only those of chosen kinds and groups."""

from __future__ import annotations

import json
import threading

import pytest

from rebalance_agent.clock import FakeClock, SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.event_json import json_line
from rebalance_agent.runtime.settings.roles import SidecarSettings
from rebalance_agent.runtime.settings.settings_sources import load
from rebalance_agent.runtime.settings.webhook_target import webhook_target
from rebalance_agent.runtime.sinks.configured_sinks import configured_webhook
from rebalance_agent.runtime.sinks.event_template import EventTemplate, TemplatedWebhook
from rebalance_agent.runtime.sinks.filtered_sink import FilteredSink
from rebalance_agent.runtime.sinks.queued_sink import DeliveryError
from rebalance_agent.runtime.sinks.webhook_sink import Webhook
from support.observer.fakes import generation_event
from support.observer.sidecars import Sidecar
from support.observer.views import assign_event

NEVER = threading.Event()
SETTING = "events_webhook_template_file"


@pytest.fixture
def template(tmp_path):
    def template(text):
        (tmp_path / "chat.json").write_text(text)
        return EventTemplate.read(SETTING, str(tmp_path / "chat.json"))

    return template


def test_fields_of_the_event_take_their_places_and_keep_their_types(template):
    form = template(
        '{"text": "${group}: ${generation} \\"${nested.name}\\" ${gone}",'
        ' "n": ["${generation}", 5, null], "o": "${nested}"}'
    )
    event = {"group": 'a"\n{}', "generation": 7, "nested": {"name": "x"}}
    assert json.loads(form.body(json.dumps(event).encode())) == {
        "text": 'a"\n{}: 7 "x" ',
        "n": [7, 5, None],
        "o": {"name": "x"},
    }


def test_a_real_event_is_a_post_of_its_own(template):
    form = template('{"text": "${group} ${generation} ${trigger}"}')
    events = [generation_event(group="orders", generation=number, trigger=Trigger.MEMBER_LEFT) for number in (2, 3)]
    with Sidecar() as server:
        target = Webhook(webhook_target(server.url), SystemClock(), form="object")
        TemplatedWebhook(target, form).deliver([*map(json_line, events)], NEVER)
    assert [json.loads(body) for body in server.bodies] == [
        {"text": f"orders {number} member_left"} for number in (2, 3)
    ]
    assert {headers["content-type"] for headers in server.headers} == {"application/json"}


def test_events_before_a_refused_one_were_delivered(template):
    with Sidecar(200, 403) as server:
        target = Webhook(webhook_target(server.url), SystemClock(), form="object")
        templated = TemplatedWebhook(target, template('{"text": "${a}"}'))
        with pytest.raises(DeliveryError) as refused:
            templated.deliver([b"{}"] * 3, NEVER)
    assert (list(refused.value.delivered), len(server.bodies)) == ([0], 2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not JSON"),
        ('{"text": "none"}', "must contain a placeholder"),
        (f'["${{a}}", "{"x" * 65_536}"]', "at most 64 KiB"),
    ],
)
def test_a_wrong_template_is_refused_at_the_start(template, text, problem):
    with pytest.raises(InvalidInputError, match=f"{SETTING}: .*{problem}"):
        template(text)


def test_a_missing_template_is_refused_at_the_start():
    settings = SidecarSettings(events_webhook="http://h.example/", events_webhook_template_file="/no/file")
    with pytest.raises(InvalidInputError, match=f"{SETTING}: cannot read /no/file: No such file"):
        configured_webhook(settings, FakeClock())


class Kept:
    def __init__(self):
        self.published = []

    def start(self):
        """Nothing is started."""

    def publish(self, event, _cluster_id):
        self.published.append((event.KIND, event.group))

    def close(self, timeout):
        """Nothing is kept open."""


@pytest.mark.parametrize(
    ("kinds", "groups", "passed"),
    [
        ("", ".*", [("generation", "orders"), ("assign", "orders"), ("generation", "billing")]),
        ("generation aborted", ".*", [("generation", "orders"), ("generation", "billing")]),
        ("generation", "ord.*", [("generation", "orders")]),
        ("", "order", []),
    ],
)
def test_only_events_of_the_chosen_kinds_and_groups_are_passed_on(kinds, groups, passed):
    kept = Kept()
    sink = FilteredSink(kept, kinds.split(), groups)
    for event in (generation_event(group="orders"), assign_event(group="orders"), generation_event(group="billing")):
        sink.publish(event, "c")
    assert kept.published == passed


def test_an_unknown_kind_is_refused_with_the_list():
    with pytest.raises(
        InvalidInputError, match="events_webhook_kinds: 'gen' is not a kind of event; the kinds are generation"
    ):
        load(SidecarSettings, None, {"events_webhook_kinds": "generation gen"})
