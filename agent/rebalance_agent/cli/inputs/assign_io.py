"""Reads a group from JSON and writes the result of `assign` as JSON; every error names its field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rebalance_agent.assignors import Setting, find_setting, known_settings
from rebalance_agent.cli.inputs.json_fields import (
    as_bytes,
    as_entries,
    as_list,
    as_load,
    as_name,
    as_names,
    as_number,
    as_object,
    as_text,
    shown,
)
from rebalance_agent.errors import AssignmentError, InvalidInputError
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.partitions import PARTITION_MAX, TopicPartitions
from rebalance_agent.model.subscription import (
    UNKNOWN_GENERATION,
    GroupAssignment,
    GroupSubscription,
    MemberSubscription,
    TopicMetadata,
)

__all__ = [
    "MEMBERS_MAX",
    "PARTITIONS_MAX",
    "group_from_json",
    "result_to_json",
    "setting_text",
]

MEMBERS_MAX = 20_000
"""Maximum number of members of one group: more than Kafka's coordinators can handle."""

PARTITIONS_MAX = 2_000_000
"""Maximum number of partitions of all topics: as many as the largest KRaft clusters have. Limits the memory for short
texts."""

INT32_MAX = 2**31 - 1
"""Largest partition number and generation in Kafka's protocol."""


def group_from_json(data: object, config: Mapping[str, str]) -> GroupSubscription:
    """Read a group. The validated ``config`` applies where neither the group's nor the member's config has a value.

    Raises:
        InvalidInputError: a field is unknown, missing, out of bounds or of the wrong type; names the first such field.
    """
    fields = as_object("", data, {"id", "topics", "members", "config"}, required={"topics", "members"})
    topics = {}
    total = 0
    for name, value in as_object("topics", fields["topics"]).items():
        path = f"topics.{shown(as_name('topics', name))}"
        topics[name] = _topic(path, value)
        total += topics[name].partitions
        if total > PARTITIONS_MAX:
            raise InvalidInputError(path, f"the group has more than {PARTITIONS_MAX} partitions")
    members = as_list("members", fields["members"], "members")
    if len(members) > MEMBERS_MAX:
        raise InvalidInputError("members", f"more than {MEMBERS_MAX}")
    read: dict[str, MemberSubscription] = {}
    for index, value in enumerate(members):
        member = _member(f"members[{index}]", value, config)
        if member.member_id in read:
            raise InvalidInputError(f"members[{index}].id", f"{shown(member.member_id)} appears twice")
        read[member.member_id] = member
    shared = {name: text for name, text in config.items() if (setting := find_setting(name)) and setting.shared}
    shared.update(_config("config", fields.get("config", {}), shared=True))
    return GroupSubscription(topics=topics, members=tuple(read.values()), config=shared)


def result_to_json(assignment: GroupAssignment, quality: AssignmentQuality, *, cooperative: bool) -> dict[str, object]:
    """Return the command's output for one group; optional keys are left out where they do not apply."""
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
    """Return a setting's value as text, as Kafka clients take it; ``value`` is a number or text.

    Raises:
        InvalidInputError: ``value`` is neither a number nor text, or is out of bounds.
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
    fields = as_object(path, value, {"partitions", "racks", "loads"}, required={"partitions"})
    count = as_number(f"{path}.partitions", fields["partitions"], 0, PARTITION_MAX)
    racks = loads = None
    if fields.get("racks") is not None:
        rows = as_entries(f"{path}.racks", fields["racks"], count)
        racks = tuple(as_names(f"{path}.racks[{index}]", row, "rack names") for index, row in enumerate(rows))
    if fields.get("loads") is not None:
        values = as_entries(f"{path}.loads", fields["loads"], count)
        loads = tuple(as_load(f"{path}.loads[{index}]", load) for index, load in enumerate(values))
    return TopicMetadata(count, racks, loads)


def _member(path: str, value: object, config: Mapping[str, str]) -> MemberSubscription:
    allowed = {"id", "instance_id", "topics", "owned", "generation", "rack", "standbys", "user_data", "config"}
    fields = {
        name: field
        for name, field in as_object(path, value, allowed, required={"id", "topics"}).items()
        if field is not None or name in {"id", "topics"}
    }
    topics = as_names(f"{path}.topics", fields["topics"], "topic names")
    return MemberSubscription(
        member_id=as_name(f"{path}.id", fields["id"]),
        topics=topics,
        instance_id=as_name(f"{path}.instance_id", fields["instance_id"]) if "instance_id" in fields else None,
        owned=_owned(f"{path}.owned", fields["owned"], topics) if "owned" in fields else {},
        generation=as_number(f"{path}.generation", fields["generation"], UNKNOWN_GENERATION, INT32_MAX)
        if "generation" in fields
        else UNKNOWN_GENERATION,
        rack=as_text(f"{path}.rack", fields["rack"]) if "rack" in fields else None,
        user_data=as_bytes(f"{path}.user_data", fields["user_data"]) if "user_data" in fields else None,
        config={**config, **_config(f"{path}.config", fields.get("config", {}), shared=False)},
        standbys=_owned(f"{path}.standbys", fields["standbys"], topics) if "standbys" in fields else {},
    )


def _owned(path: str, value: object, topics: Iterable[str]) -> TopicPartitions:
    # Topics without owned partitions get an empty tuple, which overrides the partitions in the member's user data.
    owned: dict[str, tuple[int, ...]] = dict.fromkeys(topics, ())
    for topic, numbers in as_object(path, value).items():
        where = f"{path}.{shown(as_name(path, topic))}"
        owned[topic] = tuple(
            sorted(
                {
                    as_number(f"{where}[{index}]", number, 0, INT32_MAX)
                    for index, number in enumerate(as_list(where, numbers, "partition numbers"))
                }
            )
        )
    return owned


def _config(path: str, value: object, *, shared: bool) -> dict[str, str]:
    """Read settings; a member's ``config`` may contain settings of strategies that were not chosen."""
    config = {}
    for name, text in as_object(path, value).items():
        setting, where = find_setting(name), f"{path}.{shown(name)}"
        if setting is None:
            names = sorted(name for name, each in known_settings().items() if each.shared is shared)
            raise InvalidInputError(where, f"unknown setting; the settings are {', '.join(names)}")
        if setting.shared is not shared:
            raise InvalidInputError(
                where,
                "belongs to a member: put it into members[].config"
                if shared
                else "belongs to the group: put it into the group's config",
            )
        config[name] = setting_text(f"{path}.{name}", setting, text)
    return config
