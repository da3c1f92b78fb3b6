"""A group as JSON, in and out: everything is checked where it enters, and each problem names its field."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, NoReturn

from rebalance_agent.assignors import STRATEGIES, Setting
from rebalance_agent.errors import AssignmentError, InvalidInputError
from rebalance_agent.model.partitions import PARTITION_MAX, TopicPartitions
from rebalance_agent.model.quality import AssignmentQuality
from rebalance_agent.model.subscription import (
    UNKNOWN_GENERATION,
    GroupAssignment,
    GroupSubscription,
    MemberSubscription,
    TopicMetadata,
)

__all__ = [
    "INPUT_BYTES_MAX",
    "MEMBERS_MAX",
    "NAME_MAX",
    "PARTITIONS_MAX",
    "group_from_json",
    "parse_json",
    "result_to_json",
    "setting_text",
]

INPUT_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of one group's JSON: several times that of 2,000 members with a million partitions."""

MEMBERS_MAX = 20_000
"""Members of one group; Kafka's coordinators give up well before."""

PARTITIONS_MAX = 2_000_000
"""Partitions over all topics: what the largest KRaft clusters hold. A short text could otherwise ask for any amount."""

NAME_MAX = 32_767
"""Characters of any name: the longest string of the Kafka protocol."""

INT32_MAX = 2**31 - 1

SHOWN_MAX = 80
"""Characters of a wrong name that an error repeats."""

SETTINGS: Mapping[str, Setting[Any]] = {
    setting.name: setting for each in STRATEGIES.values() for setting in each.config
}
"""Every strategy's settings: a member's ``config`` may hold those of another strategy than the one asked for."""


def parse_json(text: bytes) -> object:
    """Parse one JSON text strictly: UTF-8, no name twice in one object, no NaN.

    Raises:
        InvalidInputError: it is not that, or longer than `INPUT_BYTES_MAX`.
    """
    if len(text) > INPUT_BYTES_MAX:
        raise InvalidInputError("", f"longer than {INPUT_BYTES_MAX} bytes")
    try:
        return json.loads(text.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise InvalidInputError("", f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise InvalidInputError("", f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise InvalidInputError("", "not JSON of a group: nested too deeply") from None
    except ValueError:
        raise InvalidInputError("", "not JSON: a number has too many digits") from None


def group_from_json(data: object, config: Mapping[str, str]) -> GroupSubscription:
    """Read a group. ``config`` (already checked) counts where the group's and the members' own say nothing.

    Raises:
        InvalidInputError: naming the first field that is unknown, missing, out of bounds or of the wrong type.
    """
    fields = _object("", data, {"id", "topics", "members", "config"}, required={"topics", "members"})
    topics = {}
    total = 0
    for name, value in _object("topics", fields["topics"]).items():
        path = f"topics.{_shown(_name('topics', name))}"
        topics[name] = _topic(path, value)
        total += topics[name].partitions
        if total > PARTITIONS_MAX:
            raise InvalidInputError(path, f"brings the group to more than {PARTITIONS_MAX} partitions")
    members = _list("members", fields["members"], "members")
    if len(members) > MEMBERS_MAX:
        raise InvalidInputError("members", f"more than {MEMBERS_MAX}")
    read: dict[str, MemberSubscription] = {}
    for place, value in enumerate(members):
        member = _member(f"members[{place}]", value, config)
        if member.member_id in read:
            raise InvalidInputError(f"members[{place}].id", f"{_shown(member.member_id)} appears twice")
        read[member.member_id] = member
    shared = {name: text for name, text in config.items() if SETTINGS[name].shared}
    shared.update(_config("config", fields.get("config", {}), shared=True))
    return GroupSubscription(topics=topics, members=tuple(read.values()), config=shared)


def result_to_json(assignment: GroupAssignment, quality: AssignmentQuality, *, cooperative: bool) -> dict[str, object]:
    """The command's output for one group. Optional keys are there when they apply."""
    result: dict[str, object] = {
        "assignment": assignment.members,
        "unknown_topics": sorted(assignment.unknown_topics),
        "quality": asdict(quality),
    }
    if cooperative:
        result["revoking"] = assignment.revoking
    if assignment.redundancy > 1:
        result["redundancy"] = assignment.redundancy
    if assignment.standbys:
        result["standbys"] = assignment.standbys
    if assignment.user_data_errors:
        result["user_data_errors"] = assignment.user_data_errors
    return result


def setting_text(path: str, setting: Setting[Any], value: object) -> str:
    """A setting's value, given as a number or as text, in the text form that Kafka clients use.

    Raises:
        InvalidInputError: it is neither, or out of bounds.
    """
    text = str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise InvalidInputError(path, f"must be {setting.values}")
    try:
        setting.parse(text)
    except AssignmentError as error:
        raise InvalidInputError(path, str(error).removeprefix(f"{setting.name}: ")) from None
    return text


def _topic(path: str, value: object) -> TopicMetadata:
    fields = _object(path, value, {"partitions", "racks", "loads"}, required={"partitions"})
    count = _number(f"{path}.partitions", fields["partitions"], 0, PARTITION_MAX)
    racks = loads = None
    if fields.get("racks") is not None:
        rows = _per_partition(f"{path}.racks", fields["racks"], count)
        racks = tuple(_names(f"{path}.racks[{place}]", row, "rack names") for place, row in enumerate(rows))
    if fields.get("loads") is not None:
        values = _per_partition(f"{path}.loads", fields["loads"], count)
        loads = tuple(_load(f"{path}.loads[{place}]", load) for place, load in enumerate(values))
    return TopicMetadata(count, racks, loads)


def _member(path: str, value: object, config: Mapping[str, str]) -> MemberSubscription:
    known = {"id", "instance_id", "topics", "owned", "generation", "rack", "standbys", "user_data", "config"}
    fields = {
        name: field
        for name, field in _object(path, value, known, required={"id", "topics"}).items()
        if field is not None or name in {"id", "topics"}
    }
    topics = _names(f"{path}.topics", fields["topics"], "topic names")
    return MemberSubscription(
        member_id=_name(f"{path}.id", fields["id"]),
        topics=topics,
        instance_id=_name(f"{path}.instance_id", fields["instance_id"]) if "instance_id" in fields else None,
        owned=_owned(f"{path}.owned", fields["owned"], topics) if "owned" in fields else {},
        generation=_number(f"{path}.generation", fields["generation"], UNKNOWN_GENERATION, INT32_MAX)
        if "generation" in fields
        else UNKNOWN_GENERATION,
        rack=_text(f"{path}.rack", fields["rack"]) if "rack" in fields else None,
        user_data=_bytes(f"{path}.user_data", fields["user_data"]) if "user_data" in fields else None,
        config={**config, **_config(f"{path}.config", fields.get("config", {}), shared=False)},
        standbys=_owned(f"{path}.standbys", fields["standbys"], topics) if "standbys" in fields else {},
    )


def _owned(path: str, value: object, topics: Iterable[str]) -> TopicPartitions:
    # Topics are spelled out even when nothing of them is owned: said to own nothing outranks what user data claims.
    owned: dict[str, tuple[int, ...]] = dict.fromkeys(topics, ())
    for topic, numbers in _object(path, value).items():
        where = f"{path}.{_shown(_name(path, topic))}"
        owned[topic] = tuple(
            sorted(
                {
                    _number(f"{where}[{place}]", number, 0, INT32_MAX)
                    for place, number in enumerate(_list(where, numbers, "partition numbers"))
                }
            )
        )
    return owned


def _config(path: str, value: object, *, shared: bool) -> dict[str, str]:
    config = {}
    settings = {name for name, setting in SETTINGS.items() if setting.shared is shared}
    for name, setting in _object(path, value).items():
        if name in SETTINGS and name not in settings:
            raise InvalidInputError(
                f"{path}.{_shown(name)}",
                "is a member's own: put it into members[].config"
                if shared
                else "is shared: put it into the group's config",
            )
        if name not in settings:
            raise InvalidInputError(
                f"{path}.{_shown(name)}", f"unknown setting; there are {', '.join(sorted(settings))}"
            )
        config[name] = setting_text(f"{path}.{name}", SETTINGS[name], setting)
    return config


def _object(
    path: str, value: object, known: set[str] | None = None, required: Iterable[str] = ()
) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InvalidInputError(path or "group", "must be an object")
    if known is not None:
        for name in value:
            if name not in known:
                raise InvalidInputError(
                    _join(path, _shown(name)), f"unknown field; there are {', '.join(sorted(known))}"
                )
    for name in sorted(required):
        if name not in value:
            raise InvalidInputError(_join(path, name), "is missing")
    return value


def _list(path: str, value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise InvalidInputError(path, f"must be a list of {what}")
    return value


def _names(path: str, value: object, what: str) -> tuple[str, ...]:
    items = _list(path, value, what)
    for place, item in enumerate(items):
        if not isinstance(item, str) or not item:
            raise InvalidInputError(f"{path}[{place}]" if isinstance(item, str) else path, f"must be a list of {what}")
    return tuple(_name(f"{path}[{place}]", item) for place, item in enumerate(items))


def _per_partition(path: str, value: object, count: int) -> list[object]:
    items = _list(path, value, "one entry per partition")
    if len(items) != count:
        raise InvalidInputError(path, f"must have one entry for each of {count} partitions, has {len(items)}")
    return items


def _text(path: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(path, "must be text")
    if len(value) > NAME_MAX:
        raise InvalidInputError(path, f"longer than {NAME_MAX} characters")
    return value


def _name(path: str, value: object) -> str:
    text = _text(path, value)
    if not text:
        raise InvalidInputError(path, "must not be empty")
    return text


def _number(path: str, value: object, minimum: int, maximum: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise InvalidInputError(path, f"must be a whole number from {minimum} to {maximum}")
    return value


def _load(path: str, value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            load = float(value)
        except OverflowError:
            load = math.inf
        if 0 <= load < math.inf:
            return load
    raise InvalidInputError(path, "must be a number that is not negative")


def _bytes(path: str, value: object) -> bytes:
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise InvalidInputError(path, "must be base64")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise InvalidInputError(_shown(name), "appears twice in one object")
            seen.add(name)
    return fields


def _no_constant(text: str) -> NoReturn:
    raise InvalidInputError("", f"not JSON: {text}")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(name: str) -> str:
    return repr(name[:SHOWN_MAX]) if not name.isprintable() or len(name) > SHOWN_MAX else name
