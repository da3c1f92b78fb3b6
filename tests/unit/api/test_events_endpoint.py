import json

import pytest

from rebalance_agent.api import events_endpoint
from rebalance_agent.api.events_endpoint import FAULT_FIELD_MAX, EventsApp
from rebalance_agent.api.events_settings import EventsSettings
from rebalance_agent.api.posted_events import parse_events
from rebalance_agent.api.posted_schema import posted_schema
from rebalance_agent.clock import FakeClock
from rebalance_agent.http.bearer import Bearer
from rebalance_agent.http.events_post import ALIVE_HEADER, DROPPED_HEADER, EVENTS_PATH, SCHEMA_PATH
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.partition_ranges import PartitionRanges
from support.http.asked import ask
from support.memory import traced_memory
from support.observer.views import assign_event, member_event, with_own_id

TOKEN = "0123456789abcdef"


class Sidecar:
    """An endpoint that records accepted and refused posts."""

    def __init__(self, **settings):
        self.clock = FakeClock()
        self.accepted, self.rejected, self.alive = [], [], []
        self.app = EventsApp(
            lambda events, dropped: self.accepted.append((tuple(events), dropped)),
            self.clock,
            EventsSettings(**settings),
            self.rejected.append,
            lambda process, events: self.alive.append((process, events)),
        )

    def post(self, body=b"", method="POST", path=EVENTS_PATH, **headers):
        """Status, JSON of the answer, headers."""
        status, answered, answer = ask(self.app, path, method, body, **{"content_length": str(len(body)), **headers})
        return status, json.loads(answer), answered


def body(*events):
    return b"".join(json_line(event) + b"\n" for event in events)


def test_events_are_passed_on_in_order():
    sidecar = Sidecar()
    events = (with_own_id(member_event(sequence=1)), with_own_id(assign_event(sequence=2)))
    status, answer, _ = sidecar.post(body(*events))
    assert (status, answer) == (200, {"accepted": 2})
    assert sidecar.accepted == [(events, 0)]
    assert sidecar.rejected == []


def test_the_senders_drop_count_is_passed_on_even_without_events():
    sidecar = Sidecar()
    assert sidecar.post(x_rebalance_agent_dropped="17")[0] == 200
    assert sidecar.accepted == [((), 17)]


@pytest.mark.parametrize("text", ["-1", "many", "1.5", "", "9" * 16, "٣"])
def test_an_invalid_drop_count_is_refused(text):
    sidecar = Sidecar()
    status, answer, _ = sidecar.post(body(member_event()), x_rebalance_agent_dropped=text)
    assert (status, answer["field"]) == (400, DROPPED_HEADER)
    assert sidecar.accepted == []


def test_a_heartbeat_without_events_is_accepted():
    sidecar = Sidecar()
    assert sidecar.post(x_rebalance_agent_alive="0af3")[:2] == (200, {"accepted": 0})
    assert sidecar.post(body(member_event()), x_rebalance_agent_alive="0af3")[0] == 200
    assert sidecar.alive == [("0af3", 0), ("0af3", 1)]


@pytest.mark.parametrize("text", ["a b", "x" * 65, "\u0663", "a\n"])
def test_an_invalid_process_id_is_refused(text):
    sidecar = Sidecar()
    status, answer, _ = sidecar.post(x_rebalance_agent_alive=text)
    assert (status, answer["field"]) == (400, ALIVE_HEADER)
    assert sidecar.alive == []


def test_one_bad_line_rejects_the_whole_body_and_is_named():
    sidecar = Sidecar()
    broken = json_line(member_event()).replace(b'"assigned"', b'"paused"')
    status, answer, _ = sidecar.post(body(member_event()) + broken + b"\n" + body(assign_event()))
    assert (status, answer["line"], answer["field"]) == (400, 2, "callback")
    assert sidecar.accepted == []
    assert sidecar.rejected == [400]


def test_every_fault_of_a_body_is_in_the_answer():
    sidecar = Sidecar()
    long = json_line(member_event()).replace(b'"payments":"0-2"', b'"' + b"t" * 5_000 + b'":7')
    broken = json_line(member_event()).replace(b'"assigned"', b'"paused"').replace(b'"p1"', b"1")
    status, answer, _ = sidecar.post(broken + b"\n" + long + b"\n")
    assert status == 400
    assert (answer["line"], answer["field"]) == (1, "callback")
    assert [(fault["line"], fault["field"]) for fault in answer["faults"]] == [
        (1, "callback"),
        (1, "process"),
        (2, ("partitions." + "t" * 5_000)[:FAULT_FIELD_MAX]),
    ]
    assert answer["error"] == f"callback: {answer['faults'][0]['problem']}"


def test_the_schema_of_a_line_is_served_without_a_token():
    sidecar = Sidecar(bearer=Bearer(TOKEN))
    status, headers, answer = ask(sidecar.app, SCHEMA_PATH)
    assert (status, headers["Content-Type"]) == (200, "application/schema+json")
    assert json.loads(answer) == posted_schema()
    status, _, headers = sidecar.post(body(member_event()), path=SCHEMA_PATH)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"path": "/v1/event"}, 404),
        ({"path": "/metrics"}, 404),
        ({"method": "GET"}, 405),
        ({"method": "PUT"}, 405),
        ({"content_length": ""}, 411),
        ({"content_length": "-5"}, 411),
        ({"content_length": "5", "transfer_encoding": "chunked"}, 411),
        ({"content_length": str(1024 * 1024 + 1)}, 413),
        ({"content_length": "100"}, 400),
        ({"origin": "https://example.org"}, 403),
    ],
)
def test_requests_other_than_posts_of_events_are_refused(headers, status):
    sidecar = Sidecar()
    assert sidecar.post(b"", **headers)[0] == status
    assert sidecar.accepted == []
    assert sidecar.rejected == [status]


def test_the_allowed_method_is_named():
    assert Sidecar().post(method="GET")[2]["Allow"] == "POST"


def test_lines_of_one_post_are_bounded():
    sidecar = Sidecar(lines_max=2)
    assert sidecar.post(body(member_event(), member_event()))[0] == 200
    assert sidecar.post(body(member_event(), member_event()).rstrip())[0] == 200
    assert sidecar.post(body(member_event(), member_event(), member_event()))[0] == 413
    assert sidecar.post(b"\n" * 1_000)[0] == 413
    assert len(sidecar.accepted) == 2


def test_posts_above_the_rate_are_refused_with_retry_after():
    sidecar = Sidecar(rate=1, burst=4, lines_max=3)
    three = body(member_event(), member_event(), member_event())
    assert sidecar.post(three)[0] == 200
    status, _, headers = sidecar.post(three)
    assert (status, headers["Retry-After"]) == (429, "2")
    sidecar.clock.advance(2_000)
    assert sidecar.post(three)[0] == 200


def test_topics_without_partitions_count_against_the_rate_of_partitions():
    sidecar = Sidecar(partitions_rate=100_000)
    assert sidecar.post(body(*[member_event(partitions={"t": tuple(range(100_000))})] * 10))[0] == 200
    status, _, headers = sidecar.post(body(member_event(partitions={f"{number:x}": () for number in range(10_000)})))
    assert (status, headers["Retry-After"]) == (429, "2")  # 10,000 topics count as 200,000 partitions


def test_partitions_above_the_rate_are_refused_before_they_are_decoded():
    sidecar = Sidecar(partitions_rate=100_000)
    many = body(*[member_event(partitions={"t": tuple(range(100_000))})] * 10)
    assert sidecar.post(many)[0] == 200
    with traced_memory() as used:
        status, answer, headers = sidecar.post(many)
        assert used()[1] < 1_000_000
    assert (status, headers["Retry-After"]) == (429, "10")
    assert "partitions" in answer["error"]
    sidecar.clock.advance(10_000)
    assert sidecar.post(many)[0] == 200


EVERY_SECOND = {"t": PartitionRanges(",".join(map(str, range(0, 18_000, 2))))}
"""The partitions of one of two members with round-robin assignments."""


def test_isolated_partitions_above_the_rate_are_refused_before_they_are_parsed(monkeypatch):
    sidecar, parsed = Sidecar(), []
    monkeypatch.setattr(events_endpoint, "parse_events", lambda lines: parsed.append(lines) or parse_events(lines))
    four = body(*[member_event(partitions=EVERY_SECOND)] * 4)
    answers = [sidecar.post(four) for _ in range(20)]
    assert [status for status, _, _ in answers] == [200] * 5 + [429] * 15
    assert len(parsed) == 5
    assert "too many values" in answers[-1][1]["error"]
    assert answers[-1][2]["Retry-After"] == "1"
    assert sidecar.post(body(member_event()))[0] == 200, "a post of another process"
    sidecar.clock.advance(1_000)
    assert sidecar.post(four)[0] == 200


def test_posts_that_are_refused_for_their_values_do_not_use_up_the_rate_of_events():
    sidecar = Sidecar(rate=1, burst=10, lines_max=5, values_burst=50_000)
    four = body(*[member_event(partitions=EVERY_SECOND)] * 4)
    assert [sidecar.post(four)[0] for _ in range(10)] == [200] + [429] * 9
    assert sidecar.post(body(*[member_event()] * 5))[0] == 200


def test_a_post_of_more_values_than_a_burst_is_accepted_when_the_bucket_is_full():
    sidecar = Sidecar(values_rate=10, values_burst=50)
    large = body(member_event(partitions=EVERY_SECOND))
    assert sidecar.post(large)[0] == 200
    status, _, headers = sidecar.post(large)
    assert (status, headers["Retry-After"]) == (429, "5")
    sidecar.clock.advance(5_000)
    assert sidecar.post(large)[0] == 200


@pytest.mark.parametrize(
    "given", [None, "", TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", "Bearer \udcff"]
)
def test_a_post_without_the_token_is_refused(given):
    sidecar = Sidecar(host="0.0.0.0", bearer=Bearer(TOKEN))
    status, _, headers = sidecar.post(body(member_event()), **({} if given is None else {"authorization": given}))
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
    assert sidecar.accepted == []


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_a_post_with_the_token_is_accepted(scheme):
    sidecar = Sidecar(host="0.0.0.0", bearer=Bearer(TOKEN))
    assert sidecar.post(body(member_event()), authorization=f"{scheme} {TOKEN}")[0] == 200


def test_the_token_is_checked_before_the_body_is_read():
    sidecar = Sidecar(bearer=Bearer(TOKEN))
    assert sidecar.post(b"", content_length=str(2**40))[0] == 401


def test_a_failing_sink_is_a_server_error():
    def fail(_events, _dropped):
        raise RuntimeError("queue is full")

    sidecar = Sidecar()
    sidecar.app = EventsApp(fail, sidecar.clock, rejected=sidecar.rejected.append)
    status, answer, _ = sidecar.post(body(member_event()))
    assert status == 503
    assert "queue" not in answer["error"]
    assert sidecar.rejected == [503]
