"""A refused input is freed at once: no cycle of references keeps it until Python's garbage collector runs.

The collector runs after thousands of new objects. Inputs of up to 1 MB would fill the memory before that.
"""

from __future__ import annotations

import gc
import json

import pytest

from rebalance_agent.api.posted_events import LINE_BYTES_MAX, PostError, parse_events
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.exchange import HEAD_BYTES_MAX, HttpApplication, RequestRefusedError
from rebalance_agent.model.event_json import event_from_json, event_to_json, json_object
from support.memory import traced_memory
from support.observer.views import member_event

INPUTS = 20


def post(size):
    line = b"[" + b"0," * (size // 2) + b"0]"
    with pytest.raises(PostError):
        parse_events([line])


def event(size):
    line = json.dumps({**event_to_json(member_event()), "callback": "paused", "more": "a" * size})
    with pytest.raises(InvalidInputError):
        event_from_json(json_object(line.encode()))


def head(size):
    application = HttpApplication(lambda _request: None, body_bytes_max=0, idle_seconds=1)
    with pytest.raises(RequestRefusedError):
        application.begin(b"GET /\x00 HTTP/1.1\r\nHost: a\r\nA: " + b"a" * size + b"\r\n\r\n")


@pytest.mark.parametrize(
    ("refused", "size"),
    [(post, 4 * LINE_BYTES_MAX), (post, LINE_BYTES_MAX // 2), (event, LINE_BYTES_MAX), (head, HEAD_BYTES_MAX // 2)],
)
def test_a_refused_input_is_freed_at_once(refused, size):
    refused(size)
    gc.collect()
    gc.disable()
    try:
        with traced_memory() as used:
            for _ in range(INPUTS):
                refused(size)
            kept, _ = used()
    finally:
        gc.enable()
    assert kept < INPUTS * size / 10
