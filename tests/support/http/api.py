"""The API with views and events of a test; its answers are checked with its own OpenAPI document."""

from __future__ import annotations

import json

from jsonschema import Draft202012Validator

from rebalance_agent.api.groups_api import GroupsApi
from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.api.query import find_route
from rebalance_agent.clock import FakeClock
from rebalance_agent.tracking.lag.group_lag import NO_LAGS


class ReadyApi(GroupsApi):
    """The API as commands see it: also with the sentence about the agent's readiness, which tests can change."""

    note = ""

    def unready(self):
        return self.note


def api_of(*views, events=(), lags=NO_LAGS):
    """An API and its clock; the third value is the list of ``views``, which tests can change."""
    shown, clock, history = list(views), FakeClock(), EpisodeHistory()
    for event in events:
        history.on_event(event)
    return ReadyApi(lambda: tuple(shown), history, clock, lambda: lags), clock, shown


def ask(api, path, query=""):
    """Return status and JSON of a request."""
    status, kind, body = api(path, query)
    assert kind == "application/json"
    return int(status.split()[0]), json.loads(body)


def problems(document, path, answer, status=200):
    """Differences between an answer and the document, including fields that are not in it."""
    route, _ = find_route(path)
    responses = document["paths"][route.path]["get"]["responses"]
    schema = responses[str(status)]["content"]["application/json"]["schema"]
    whole = _strict({"components": document["components"], **schema})
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(whole).iter_errors(answer)]


def _strict(schema):
    """The document without the permission for further fields, so that a test finds undocumented ones."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: _strict(each) for name, each in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        inner["additionalProperties"] = False
    return inner
