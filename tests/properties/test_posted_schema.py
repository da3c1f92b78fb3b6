"""The JSON Schema of posted events and the endpoint's decoder accept the same lines."""

import base64
import json

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rebalance_agent.api.posted_events import LABEL_MAX, POSTED_KINDS, PostError, parse_events
from rebalance_agent.api.posted_schema import posted_schema
from rebalance_agent.model.event_json import TEXT_MAX
from rebalance_agent.model.partitions import to_ranges

SCHEMA = posted_schema()
VALIDATOR = Draft202012Validator(SCHEMA)

RANGES = st.sets(st.integers(0, 40)).map(lambda numbers: to_ranges(sorted(numbers)))
"""A schema cannot express ascending ranges, so the strategy generates them."""

BASE64 = st.binary(max_size=5).map(lambda data: base64.b64encode(data).decode())
"""Validators do not check the encoding of a text either."""

ODD = [
    None, True, 0.5, -1, 0, 2**63, -(2**63) - 1, "", "assign", "paused", "x" * (LABEL_MAX + 1), "x" * (TEXT_MAX + 1),
    [], [1], {}, {"t": 7}, {"t": "0-2"}, {"t": "a"}, {"pod": "p"}, {"pod": 1}, {"pod": "p" * (LABEL_MAX + 1)},
    {"name": "n"}, {"name": 1}, {"version": "v" * (LABEL_MAX + 1)}, {"idle_ratio": -1}, {"idle_ratio": 2**54},
]  # fmt: skip
"""Values that are valid in some fields only."""


def values(schema):
    """A strategy for the values that a schema allows; it fails for keywords that it does not know."""
    if "$ref" in schema:
        return values(SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")])
    for choices in ("oneOf", "anyOf"):
        if choices in schema:
            return st.one_of([values(choice) for choice in schema[choices]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = {"object": objects, "array": arrays, "string": texts, "integer": integers, "number": numbers}
    return {**kinds, "null": lambda _: st.none()}[schema["type"]](schema)


def objects(schema):
    if "properties" not in schema:
        return st.dictionaries(st.text(max_size=5), values(schema["additionalProperties"]), max_size=3)
    fields = {name: values(part) for name, part in schema["properties"].items()}
    required = {name: fields.pop(name) for name in schema["required"]}
    return st.fixed_dictionaries(required, optional=fields)


def arrays(schema):
    return st.lists(values(schema["items"]), max_size=min(schema["maxItems"], 3))


def texts(schema):
    if "contentEncoding" in schema:
        return BASE64
    return RANGES if "pattern" in schema else st.text(max_size=min(schema["maxLength"], 10))


def integers(schema):
    return st.integers(schema["minimum"], schema.get("maximum"))


def numbers(schema):
    return st.floats(schema.get("minimum"), schema.get("maximum"), allow_nan=False, allow_infinity=False)


EVENTS = values(SCHEMA)


def accepted(data):
    try:
        parse_events([json.dumps(data).encode()])
    except PostError:
        return False
    return True


@given(EVENTS)
def test_lines_allowed_by_the_schema_are_accepted(event):
    assert VALIDATOR.is_valid(event)
    (decoded,) = parse_events([json.dumps(event).encode()])
    assert decoded.group == event["group"]


@given(EVENTS, st.data())
def test_schema_and_decoder_refuse_the_same_damaged_events(event, data):
    names = sorted({*event, *SCHEMA["$defs"]["MemberEvent"]["properties"]})
    for name in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)):
        if data.draw(st.booleans()):
            event[name] = data.draw(st.sampled_from(ODD))
        else:
            event.pop(name, None)
    assert VALIDATOR.is_valid(event) == accepted(event)


@given(EVENTS)
def test_an_event_without_a_required_field_is_refused_by_both(event):
    definition = SCHEMA["$defs"][POSTED_KINDS[event["kind"]].__name__]
    for name in definition["required"]:
        damaged = {key: value for key, value in event.items() if key != name}
        assert not VALIDATOR.is_valid(damaged)
        assert not accepted(damaged)
