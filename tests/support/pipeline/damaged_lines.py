"""Lines that look much like published events: each is one of these, unchanged or with a damage or an unusual form."""

from __future__ import annotations

import copy
import functools
import json
import random
import re

from rebalance_agent.model.event_json import TEXT_MAX
from support.pipeline.poison import poison

compact = functools.partial(json.dumps, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
BYTES = (*b'0123456789.,-+eE:"{}[]\\ nNaAtz', 0, 9, 10, 13, 127, 128, 195, 237, 255)
"""Bytes that are inserted or replace others."""


def damaged_lines(models, *, seed, count):
    """``count`` lines from ``models`` (events as JSON objects): valid, poisoned, with wrong bytes, or of `FORMS`."""
    rng = random.Random(seed)
    poisoned = poison(models, seed=seed, count=count, dump=compact)
    forms = list(FORMS.values())
    for number in range(count):
        event = copy.deepcopy(rng.choice(models)) | {"event_id": f"{number:032x}"}
        fate = number % 8
        if fate == 0:
            yield compact(event).encode()
        elif fate == 1:
            yield next(poisoned)
        elif fate == 2:
            yield _wrong_bytes(rng, compact(event).encode())
        else:
            yield rng.choice(forms)(event)


def _wrong_bytes(rng, line):
    place, fate = rng.randrange(len(line)), rng.randrange(3)
    inserted = b"" if fate == 0 else bytes([rng.choice(BYTES)])
    return line[:place] + inserted + line[place + (fate != 1) :]


def _with(*path, value):
    """Sets the value at the first place of this path: a name, or the first item of a list (0)."""

    def form(event):
        holder = event
        for step in path[:-1]:
            inner = holder[step] if (step in holder if isinstance(holder, dict) else holder) else None
            if not isinstance(inner, dict | list) or not inner:
                return compact(event | {"revision": "no such field"}).encode()
            holder = inner
        holder[path[-1]] = value
        return compact(event).encode()

    return form


def _without(name):
    return lambda event: compact({key: value for key, value in event.items() if key != name}).encode()


def _text(pattern, new):
    """Replaces the first match in the line."""
    return lambda event: re.sub(pattern, lambda _: new, compact(event), count=1).encode("utf-8", "surrogatepass")


def _dumped(**options):
    return lambda event: json.dumps(event, **options).encode()


def _parts(event):
    return compact(event | {"part": 1, "parts": 1}).encode()


MEMBER = ("members", 0)
FORMS = {
    # not JSON in UTF-8
    "cut": lambda event: compact(event).encode()[:-1],
    "trailing text": lambda event: compact(event).encode() + b"x",
    "trailing newline": lambda event: compact(event).encode() + b"\n",
    "two values": lambda event: compact(event).encode() * 2,
    "byte order mark": lambda event: b"\xef\xbb\xbf" + compact(event).encode(),
    "UTF-16": lambda event: compact(event).encode("utf-16"),
    "not UTF-8": lambda event: compact(event).encode().replace(b'"group":"', b'"group":"\xff'),
    "overlong UTF-8": lambda event: compact(event).encode().replace(b'"group":"', b'"group":"\xc0\xa2'),
    "a surrogate in UTF-8": lambda event: compact(event).encode().replace(b'"group":"', b'"group":"\xed\xa0\x80'),
    "single quotes": lambda event: compact(event).replace('"', "'").encode(),
    "a name without quotes": _text('"revision"', "revision"),
    "a leading zero": _text('"revision":', '"revision":0'),
    "a plus": _text('"revision":', '"revision":+'),
    "a comma at the end": _text("}$", ",}"),
    "a comment": _text('"revision":', '/**/"revision":'),
    "a control character": _text('"group":"', '"group":"\x01'),
    "an invalid escape": _text('"group":"', '"group":"\\q'),
    "a list": lambda event: compact([event]).encode(),
    "a text": lambda event: compact(compact(event)).encode(),
    # for another release
    "newer schema": _with("schema_version", value=2),
    "newer schema of many digits": _text('"schema_version":1', '"schema_version":1' + "0" * 400),
    "unknown kind": _with("kind", value="quota"),
    "kind of another case": _text('"kind":"', '"kind":"G'),
    # wrong types
    "kind is a number": _with("kind", value=5),
    "schema 0": _with("schema_version", value=0),
    "schema true": _with("schema_version", value=True),
    "schema 1.0": _with("schema_version", value=1.0),
    "no cluster": _without("cluster_id"),
    "no group": _without("group"),
    "no time": _without("timestamp_ms"),
    "a null group": _with("group", value=None),
    "a number for a text": _with("group", value=5),
    "a list for a text": _with("group", value=["g"]),
    "a text for a number": _with("timestamp_ms", value="1795260564722"),
    "a float for an integer": _with("revision", value=1.0),
    "true for an integer": _with("revision", value=True),
    "more than 64 bits": _with("revision", value=2**63),
    "a number for true": _with("closes_episode", value=1),
    "a text for false": _with("noop", value="false"),
    "a long text": _with("group", value="x" * (TEXT_MAX + 1)),
    "an unknown choice": _with("source", value="rumour"),
    "an unknown callback": _with("callback", value="explode"),
    "a choice of another case": _with("group_type", value="Classic"),
    "members of a number": _with("members", value=[7]),
    "members without an id": _with("members", value=[{"client_id": "c"}]),
    "null in a list": _with(*MEMBER, "topics", value=[None]),
    "a text for a list": _with(*MEMBER, "topics", value="t"),
    "a list for a map": _with(*MEMBER, "owned", value=[]),
    "a null map": _with(*MEMBER, "assigned", value=None),
    "no base64": _with(*MEMBER, "user_data", value="YQ"),
    "a long place": _with("where", value={"pod": "p" * 1_025}),
    "a number for a place": _with("where", value={"pod": 1}),
    "not a number": _text('"lower_seconds":[^,}]*', '"lower_seconds":NaN'),
    "infinite": _text('"skew_ratio":[^,}]*', '"skew_ratio":Infinity'),
    "not a number as a text": _with("skew_ratio", value="NaN"),
    "beyond doubles": _text('"skew_ratio":[^,}]*', '"skew_ratio":1e999'),
    # partitions
    "out of order": _with(*MEMBER, "owned", value={"t": "7,3"}),
    "a range backwards": _with(*MEMBER, "owned", value={"t": "7-3"}),
    "twice": _with(*MEMBER, "owned", value={"t": "3,3"}),
    "overlapping": _with(*MEMBER, "owned", value={"t": "1-4,4-6"}),
    "beyond": _with(*MEMBER, "owned", value={"t": "1000000"}),
    "very many": _with(*MEMBER, "owned", value={"s": "0-999999", "t": "0-999999", "u": "0-9"}),
    "many topics": _with(*MEMBER, "owned", value={f"t{number:04}": "0-9999" for number in range(250)}),
    "many topics of a callback": _with("partitions", value={f"t{number:04}": "0-9999" for number in range(250)}),
    "no range": _with("partitions", value={"t": "x"}),
    "a number for ranges": _with("partitions", value={"t": 1}),
    "a callback out of order": _with("partitions", value={"t": "10,9"}),
    # out of bounds, or contradictory
    "no id": _with("event_id", value=""),
    "too early": _with("timestamp_ms", value=1),
    "too late": _with("timestamp_ms", value=5_000_000_000_000),
    "a negative revision": _with("revision", value=-1),
    "a revision of 33 bits": _with("revision", value=2**31),
    "a negative count": _with("moved", value=-1),
    "a generation of 33 bits": _with("generation", value=2**31),
    "a timeout of 33 bits": _with(*MEMBER, "session_timeout_ms", value=2**31),
    "a timeout that is a time": _with(*MEMBER, "session_timeout_ms", value=1_795_260_564_722),
    "a negative ratio": _with("skew_ratio", value=-0.5),
    "a large ratio": _with("skew_ratio", value=1e300),
    "negative seconds": _with("slowest_seconds", value=-1.5),
    "more than a century": _with("slowest_seconds", value=4e9),
    "a part too many": _parts,
    "very many parts": _with("parts", value=100_001),
    "an episode of a later generation": _with("episode_generation", value=999_999),
    "a start after the end": _with("phases", "started_ms", value=2_795_260_564_722),
    "a stall of an open episode": lambda event: compact(
        event | {"closes_episode": False, "stall": {"basis": "bound", "lower_seconds": 1.5, "partition_seconds": 1.5}}
    ).encode(),
    "a lower bound above the upper": lambda event: compact(
        event
        | {
            "closes_episode": True,
            "stall": {"basis": "bound", "lower_seconds": 2.5, "partition_seconds": 1.5, "seconds": 1.5},
        }
    ).encode(),
    "a long topic": _with("topics", value={"t" * 32_768: 1}),
    "a negative topic": _with("topics", value={"t": -1}),
    "topics of 33 bits": _with("topics", value={"s": 2**30, "t": 2**30}),
    "one id twice": lambda event: compact(
        event | ({"members": event["members"] * 2} if isinstance(event.get("members"), list) else {"revision": -2})
    ).encode(),
    "fewer than there are": _with("topics", value={"t": 999}),
    # valid, but not as the codec writes it
    "blanks": _dumped(sort_keys=True),
    "another order": lambda event: json.dumps(
        dict(sorted(event.items(), reverse=True)), separators=(",", ":")
    ).encode(),
    "an unknown field": _with("news", value={"a": [1]}),
    "an unknown field of a member": _with(*MEMBER, "news", value=1),
    "without a default": _without("revision"),
    "without two defaults": _without("epoch_kind"),
    "null where absent is meant": _with("assignor", value=None),
    "a field twice": _text('"revision":', '"revision":7,"revision":'),
    "a map's name twice": _text('"owned":{[^}]*}', '"owned":{"t":"1","t":"2"}'),
    "a map's names out of order": _text('"owned":{[^}]*}', '"owned":{"t":"1","s":"2"}'),
    "topics out of order": _text('"topics":{[^}]*}', '"topics":{"t":0,"s":0}'),
    "a callback's topics out of order": _text('"partitions":{[^}]*}', '"partitions":{"t":"1","s":"2"}'),
    "a callback's topic twice": _text('"partitions":{[^}]*}', '"partitions":{"t":"1","t":"2"}'),
    "errors out of order": _with("user_data_errors", value={"b": "x", "a": "y"}),
    "ranges that touch": _with(*MEMBER, "owned", value={"t": "0-1,2,9,10"}),
    "a range of one": _with(*MEMBER, "owned", value={"t": "3-3"}),
    "a zero before a partition": _with(*MEMBER, "owned", value={"t": "03"}),
    "no partitions": _with(*MEMBER, "owned", value={"t": ""}),
    "far apart": _with(*MEMBER, "owned", value={"t": "9,20,99,101-9999"}),
    "an integer for a float": _with("skew_ratio", value=1),
    "a zero at the end": _text('"skew_ratio":[^,}]*', '"skew_ratio":1.50'),
    "an exponent": _text('"skew_ratio":[^,}]*', '"skew_ratio":1.5e0'),
    "a small float": _text('"skew_ratio":[^,}]*', '"skew_ratio":0.00001'),
    "a tenth of a thousandth": _text('"skew_ratio":[^,}]*', '"skew_ratio":0.0001'),
    "many digits": _text('"skew_ratio":[^,}]*', '"skew_ratio":1.33333333333333333333'),
    "a large float": _text('"stalled_partition_seconds":[^,}]*', '"stalled_partition_seconds":123456789.123456'),
    "minus zero": _text('"revision":[0-9]+', '"revision":-0'),
    "minus zero as a float": _with("skew_ratio", value=-0.0),
    "an escape": _text('"group":"', '"group":"\\u0041'),
    "an escaped slash": _text('"group":"', '"group":"\\/'),
    "a lone surrogate": _text('"group":"', '"group":"\\ud800'),
    "an escaped quote": _text('"group":"', '"group":"\\"'),
    "beyond ASCII": _with("group", value="gruppe-\u00e4-\U0001f600"),
    "delete": _with("group", value="\x7f"),
    "bytes": _with(*MEMBER, "user_data", value="AAEC/w=="),
    "bytes with lost bits": _with(*MEMBER, "user_data", value="AAEC/x=="),
    "fields of an object of another order": _text('"where":{[^}]*}', '"where":{"pod":"p","node":"n"}'),
    "another kind in a map": _with("user_data_errors", value={"kind": "member"}),
    "two types of map value": _with("user_data_errors", value={"a": 1}),
    "an unknown member": _with("generation", value=-1),
    "a long list": _with(*MEMBER, "topics", value=["t"] * 2_000),
}  # fmt: skip
"""Ways to write an event, each with its name; many are invalid for every event, some only for a few kinds."""
