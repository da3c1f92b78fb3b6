"""Shapes copy fields by name from views and events; their types must agree, which a type checker cannot verify."""

from __future__ import annotations

import typing

import pytest

from rebalance_agent.api import shapes
from rebalance_agent.api.parts.counter_parts import GroupCounters
from rebalance_agent.api.view_shapes import build_rebalance
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.tracking.views import Counters, GroupView, MemberLoad
from support.observer.demo_events import generation_event

COMPUTED = {"members", "flapping", "topic_spread", "host_spread", "counters", "completed"}
"""Fields that have another type in the API: numbers, names and strings instead of values."""


@pytest.mark.parametrize(
    ("shape", "source"),
    [
        (shapes.GroupSummary, GroupView),
        (shapes.GroupDetail, GroupView),
        (shapes.GroupMember, MemberLoad),
        (GroupCounters, Counters),
        (shapes.LastRebalance, GenerationEvent),
        (shapes.Rebalance, GenerationEvent),
        (shapes.GenerationStep, GenerationEvent),
    ],
)
def test_a_field_has_the_type_of_its_source_attribute(shape, source):
    taken, offered = typing.get_type_hints(shape), typing.get_type_hints(source)
    common = taken.keys() & offered.keys() - COMPUTED
    assert common
    assert not {name for name in common if offered[name] not in (taken[name], *typing.get_args(taken[name]))}


def test_a_member_that_was_removed_for_being_slow_has_a_name():
    bounds = {"slowest_seconds": 30.2, "slowest_lower_seconds": 30.0}
    event = generation_event(slowest_member_id="gone", slowest_client_id="orders-3", slowest_host="/10.0.0.3", **bounds)
    assert build_rebalance([event]).slowest == shapes.SlowestMember("orders-3", "10.0.0.3", "gone", 30.2, 30.0)
    older = generation_event(slowest_member_id="m-2")
    assert build_rebalance([older]).slowest == shapes.SlowestMember("two", "127.0.0.1", "m-2", None, None)
