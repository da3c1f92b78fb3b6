"""Findings about the members' client libraries: which of them have the consumer protocol (KIP-848)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rebalance_agent.advice.client_kinds import (
    ClientKind,
    PossibleClients,
    is_adapted,
    possible_kinds,
)
from rebalance_agent.advice.migration.migrating_group import MigratingGroup, MigratingMember
from rebalance_agent.advice.migration.migration_findings import MigrationFinding, Subject, Verdict
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.member_changes import member_name

__all__ = ["KIP_848_SINCE", "NEW_PROTOCOL", "client_findings", "client_kinds", "names_of", "none_able"]

NEW_PROTOCOL = "group.protocol=consumer"


class _Support(NamedTuple):
    """A library's first ``release`` with the final consumer protocol, and the ``setting`` that enables it."""

    release: tuple[int, int]
    setting: str

    def __str__(self) -> str:
        return f"{self.release[0]}.{self.release[1]}, with {self.setting}"


KIP_848_SINCE = {
    ClientKind.JAVA: _Support((4, 0), NEW_PROTOCOL),
    ClientKind.LIBRDKAFKA: _Support((2, 12), NEW_PROTOCOL),
    ClientKind.FRANZ_GO: _Support((1, 22), "the option ServerSideBalancer"),
}
"""Library -> its support of the consumer protocol; other known libraries do not have the protocol."""

_RELEASES = {
    ClientKind.JAVA: re.compile(r"(\d+)\.(\d+)"),
    ClientKind.LIBRDKAFKA: re.compile(r"(?:.*rdkafka-v?)?(\d+)\.(\d+)"),
    ClientKind.FRANZ_GO: re.compile(r"v?(\d+)\.(\d+)"),
}
"""The beginning of the version that a library names: Confluent's clients have versions of their own before
librdkafka's."""

NAMES_MAX = 3
"""Maximum number of members named in a sentence."""


def client_findings(group: MigratingGroup) -> Iterator[MigrationFinding]:
    """Yield the findings."""
    kinds = client_kinds(group)
    if unable := _unable(kinds):
        libraries = sorted({str(kind) for member in unable for kind in kinds[member]})
        text = f"{names_of(unable)} cannot change: {' or '.join(libraries)} does not support the consumer protocol"
        fix = "Brokers also serve such members in a group of the new protocol; the group stays mixed until they change."
        yield MigrationFinding(Subject.CLIENTS, Verdict.CHANGES, text, fix)
    if unsure := [member for member, some in kinds.items() if len(some) > 1 and set(some) & KIP_848_SINCE.keys()]:
        since = "; ".join(f"{kind} {release}" for kind, release in KIP_848_SINCE.items())
        text, fix = f"The client library of {names_of(unsure)} is unknown", f"It must be one of: {since}."
        if is_adapted(group.assignor or ""):
            text = (
                f"The client library of {names_of(unsure)} is unknown: {group.assignor} is an assignor of "
                "rebalance-agent, so each member runs it in a Python client, or is behind a gateway"
            )
            fix = (
                "kafka-python and aiokafka do not support the consumer protocol. confluent-kafka supports it, but only "
                "with its own consumer class. Behind a gateway, the client library must be one of: "
                f"{since}."
            )
        yield MigrationFinding(Subject.CLIENTS, Verdict.UNKNOWN, text, fix)
    yield from _too_old(kinds)


def _too_old(kinds: Mapping[MigratingMember, PossibleClients]) -> Iterator[MigrationFinding]:
    """Yield a finding for each library whose named version is older than its support of the consumer protocol."""
    for kind, support in KIP_848_SINCE.items():
        members = [member for member, some in kinds.items() if some == (kind,)]
        old = [member for member in members if (release := _release(kind, member)) and release < support.release]
        if old:
            versions = sorted({member.software.version for member in old if member.software})
            yield MigrationFinding(
                Subject.CLIENTS,
                Verdict.CHANGES,
                f"{names_of(old)} cannot change with {kind} {' or '.join(versions)}",
                f"Start the new members with {kind} {support.release[0]}.{support.release[1]} or later.",
                support.setting if support.setting == NEW_PROTOCOL else None,
            )


def _release(kind: ClientKind, member: MigratingMember) -> tuple[int, int] | None:
    found = _RELEASES[kind].match(member.software.version) if member.software else None
    return (int(found[1]), int(found[2])) if found else None


def none_able(group: MigratingGroup) -> bool:
    """Return whether the clients of all classic members of ``group`` are known to have no consumer protocol."""
    kinds = client_kinds(group)
    return bool(kinds) and len(_unable(kinds)) == len(kinds)


def client_kinds(group: MigratingGroup) -> Mapping[MigratingMember, PossibleClients]:
    """Return the libraries that each classic member of ``group`` may use."""
    return {member: _kinds_of(member, group) for member in group.of(GroupType.CLASSIC)}


def _kinds_of(member: MigratingMember, group: MigratingGroup) -> PossibleClients:
    return possible_kinds(group.group, group.assignor, member.client_id, member.user_data, member.software)


def _unable(kinds: Mapping[MigratingMember, PossibleClients]) -> list[MigratingMember]:
    return [member for member, some in kinds.items() if some and not set(some) & KIP_848_SINCE.keys()]


def names_of(members: Sequence[MigratingMember]) -> str:
    """Return the names of ``members`` for a sentence: at most `NAMES_MAX`, and the number of the others."""
    names = list(dict.fromkeys(member_name(member.client_id, member.instance_id) for member in members))
    rest = len(names) - NAMES_MAX
    return ", ".join(names[:NAMES_MAX]) + (f" and {rest} more" if rest > 0 else "")
