"""The client with the API's own application on a real port, and with agents that misbehave."""

import argparse
import json
from contextlib import contextmanager

import pytest

from rebalance_agent.api.query import GroupQuery, NotKnownError
from rebalance_agent.cli.inputs import agent_api as agent_api_module
from rebalance_agent.cli.inputs.agent_api import AgentApi, AgentError
from rebalance_agent.cli.inputs.cluster_settings import cluster_settings
from rebalance_agent.cli.inputs.groups_access import add_access_flags, agent_api, wants_direct
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.bearer import Bearer
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.messages import Response
from rebalance_agent.http.server import HttpServer
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.runtime.listeners.web import WebApp
from support.http.api import api_of
from support.http.rude_server import OK, RudeServer
from support.observer.fakes import generation_event
from support.observer.views import full_view

TOKEN = "a-token-of-an-observer"
HOSTILE = 'a "name"\nwith/slashes, %2F, ünï & ?query=#'


@contextmanager
def served(app):
    server = HttpServer("127.0.0.1", 0, app)
    server.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.stop()


def answering(status, body, headers=()):
    return lambda _request: Response(status, "application/json", body, headers)


@pytest.mark.parametrize("group", [HOSTILE, "..", "a/b", "a%2Fb", "."])
def test_values_of_the_api_are_decoded_unchanged(group):
    event = generation_event(group=group)
    api, *_ = api_of(full_view(group), full_view("other"), events=[event])
    with served(WebApp((), Readiness(), api=api)) as url:
        agent = AgentApi(url + "/")
        assert agent.groups() == api.groups()
        query = GroupQuery(match=("o*", "x&y"), states=(GroupState.STABLE,), types=(GroupType.CLASSIC,), sort="-skew")
        assert [each.group for each in agent.groups(query).groups] == ["other"]
        assert agent.group(group) == api.group(group)
        assert agent.rebalances(group) == api.rebalances(group)
        assert agent.rebalance(group, event.event_id) == api.rebalance(group, event.event_id)
        with pytest.raises(NotKnownError, match="there is no group 'nobody'"):
            agent.group("nobody")


def test_an_answer_that_arrives_byte_by_byte_ends_after_the_time_for_a_whole_one(monkeypatch):
    monkeypatch.setattr(agent_api_module, "ANSWER_TIMEOUT_S", 0.3)
    with (
        RudeServer(OK % 100, *[b" "] * 100, pause_s=0.05) as server,
        pytest.raises(AgentError, match="time"),
    ):
        AgentApi(server.url).groups()


def test_a_token_is_sent_and_its_absence_is_an_error(tmp_path):
    received = []

    def app(request):
        received.append(request.headers.get("authorization"))
        return answering("401 Unauthorized", b'{"error": "a bearer token is required"}')(request)

    with served(app) as url:
        with pytest.raises(AgentError, match="give one with --token-file"):
            AgentApi(url).groups()
        with pytest.raises(AgentError):
            AgentApi(url, token="secret").groups()
    assert received == [None, "Bearer secret"]


def test_a_redirect_gets_no_token():
    received = []

    def elsewhere(request):
        received.append(request)
        return answering("200 OK", b"{}")(request)

    with (
        served(elsewhere) as other,
        served(answering("302 Found", b"", [("Location", other)])) as url,
        pytest.raises(AgentError, match="302"),
    ):
        AgentApi(url, token="secret").groups()
    assert received == []


@pytest.mark.parametrize("location", ["http://[", "file:///etc/passwd"])
def test_a_redirect_to_nowhere_is_reported_as_one(location):
    redirect = answering("302 Found", b"", [("Location", location)])
    with served(redirect) as url, pytest.raises(AgentError, match=r"rejects the request \(302\): Found$"):
        AgentApi(url).groups()


def test_the_parts_that_do_not_work_are_named_and_the_token_is_sent():
    readiness = Readiness(("list", "offsets", "topics"))
    readiness.ready("topics")
    readiness.unready("list", "listing groups: timed out")
    with served(WebApp((), readiness, bearer=Bearer(TOKEN), health_open=False)) as url:
        agent = AgentApi(url, token=TOKEN)
        assert agent.unready() == (
            "the observer is not ready (list: listing groups: timed out; offsets: starting): its data may be out of "
            "date or incomplete"
        )
        assert AgentApi(url).unready() == "", "an observer that refuses the request does not say that it is not ready"
        for part in ("list", "offsets"):
            readiness.ready(part)
        assert agent.unready() == ""


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"[" * 100_000, b'{"parts": 3}', b'{"ready": false}'])
def test_an_answer_about_readiness_that_cannot_be_read_is_no_failure(body):
    with served(answering("503 Service Unavailable", body)) as url:
        assert AgentApi(url).unready() == ""
    assert AgentApi("http://127.0.0.1:1").unready() == ""


@pytest.mark.parametrize(
    ("status", "body", "reported"),
    [
        ("200 OK", b"{}", "is not that of an observer of this release: now_ms"),
        ("200 OK", b"<html>", "is not JSON"),
        ("200 OK", b"[" * 100_000, "is not JSON"),
        ("404 Not Found", b"<html>", r"not an observer \(404: Not Found\); --url selects another"),
        ("404 Not Found", b'{"error": "there are /metrics, /healthz"}', "there are /metrics"),
        ("500 Oops", b'{"error": 3}', r"rejects the request \(500\): Oops"),
        ("400 Bad Request", json.dumps({"error": "limit: must be"}).encode(), "limit: must be"),
    ],
)
def test_a_server_that_is_no_agent_is_reported(status, body, reported):
    with served(answering(status, body)) as url, pytest.raises(AgentError, match=reported):
        AgentApi(url).groups()


def test_an_address_without_an_agent_is_an_error_with_the_address():
    with pytest.raises(AgentError, match=r"no agent responds at http://127\.0\.0\.1:1: .*refused"):
        AgentApi("http://127.0.0.1:1").groups()


@pytest.mark.parametrize(
    "url", ["", "localhost:29308", "ftp://x", "http://", "http://x:port", "http://x/?a=b", "http://x\n", "file:///etc"]
)
def test_an_invalid_address_is_refused(url):
    with pytest.raises(InvalidInputError, match="--url: must be an address"):
        AgentApi(url)


def test_certificates_that_cannot_be_read_are_named(tmp_path):
    nothing = str(tmp_path / "nothing.pem")
    with pytest.raises(InvalidInputError, match=f"--ca-file: cannot read {nothing}"):
        AgentApi("https://x", ca_file=nothing)
    with pytest.raises(InvalidInputError, match=f"--cert-file: cannot read {nothing}"):
        AgentApi("https://x", cert_file=nothing)


def options(*arguments):
    parser = argparse.ArgumentParser()
    add_access_flags(parser)
    return parser.parse_args(arguments)


def test_the_address_comes_from_the_flag_then_the_environment_then_the_default():
    environment = {"REBALANCE_AGENT_URL": "http://env:1"}
    assert agent_api(options("--url", "http://flag:1"), environment).address == "http://flag:1"
    assert agent_api(options(), environment).address == "http://env:1"
    assert agent_api(options(), {}).address == "http://localhost:29308"


def test_an_error_about_the_address_names_its_source():
    environment = {"REBALANCE_AGENT_URL": "localhost:1"}
    with pytest.raises(InvalidInputError, match=r"^REBALANCE_AGENT_URL: must be an address"):
        agent_api(options(), environment)
    with pytest.raises(InvalidInputError, match=r"^--url: must be an address"):
        agent_api(options("--url", "localhost:2"), environment)


def test_flags_that_contradict_each_other_are_refused(tmp_path):
    assert not wants_direct(options())
    assert wants_direct(options("--kafka", "bootstrap.servers=x:1"))
    with pytest.raises(InvalidInputError, match="--token-file: needs an agent"):
        wants_direct(options("--bootstrap-servers", "x:1", "--token-file", "t"))
    with pytest.raises(InvalidInputError, match="--key-file: needs --cert-file"):
        agent_api(options("--key-file", "k"), {})
    with pytest.raises(InvalidInputError, match="--token-file: cannot read"):
        agent_api(options("--token-file", str(tmp_path / "none")), {})


def test_an_in_process_watch_needs_brokers_and_accepts_kafka_properties():
    settings, properties = cluster_settings(options("--bootstrap-servers", "x:1", "--kafka", "client.id=me"))
    assert (properties["bootstrap.servers"], properties["client.id"]) == ("x:1", "me")
    assert settings.events_topic == "rebalance-events"
    with pytest.raises(InvalidInputError, match="--bootstrap-servers: is missing"):
        cluster_settings(options("--kafka", "client.id=me"))
