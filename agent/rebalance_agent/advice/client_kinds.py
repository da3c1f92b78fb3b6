"""Derives from recorded generations which client libraries a group's members may use, and what assignors these run.

No record names the client library. An instrumented client reports its own, and a client behind a gateway may name its
own (KIP-511). A default client id identifies the library, and the assignor's name and the format of the user data rule
out others. Otherwise any library is possible; the advice then names the condition.

A gateway can run a strategy for any client: then the client's own assignor only decides whether the client is eager or
cooperative.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from rebalance_agent.advice.replay.reported_clients import ReportedClient
from rebalance_agent.assignors import find_strategy
from rebalance_agent.model.events import GenerationEvent, MemberSnapshot
from rebalance_agent.model.group import LIBRDKAFKA_ASSIGNORS, is_cooperative
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = [
    "Change",
    "ClientKind",
    "PossibleClients",
    "can_be_static",
    "change_behind_gateway",
    "change_to",
    "clients_behind_gateways",
    "is_adapted",
    "own_assignor",
    "possible_clients",
    "possible_kinds",
    "usable",
]


class ClientKind(StrEnum):
    """A client library, by its common name."""

    JAVA = "Java"
    FRANZ_GO = "franz-go"
    KAFKA_PYTHON = "kafka-python"
    KAFKA_PYTHON_2 = "kafka-python before 3.0"
    LIBRDKAFKA = "librdkafka"
    AIOKAFKA = "aiokafka"
    SARAMA = "Sarama"
    KAFKA_GO = "kafka-go"
    KAFKAJS = "KafkaJS"


PossibleClients = tuple[ClientKind, ...]
"""The libraries that one member may use, in the order of `ClientKind`; none if nothing fits."""


class Change(StrEnum):
    """The way in which the members of one library change to another assignor."""

    ROLLING = "rolling"
    """Two rolling restarts: after the first, each member lists both assignors, then only the new one (KIP-429)."""
    STOP = "stop"
    """All members stop at the same time, since the library refuses a list with both assignors."""
    RULE = "rule"
    """Only the gateway's rule changes: the client stays as it is."""
    IMPOSSIBLE = "impossible"
    """The library does not have the assignor."""


_COMMON = frozenset({"range", "roundrobin"})
_STICKY = _COMMON | {"sticky"}
_ALL = _STICKY | {"cooperative-sticky"}

_ASSIGNORS: dict[ClientKind, frozenset[str]] = {
    ClientKind.JAVA: _ALL,
    ClientKind.FRANZ_GO: _ALL,
    ClientKind.KAFKA_PYTHON: _ALL,
    ClientKind.KAFKA_PYTHON_2: _STICKY,
    ClientKind.LIBRDKAFKA: LIBRDKAFKA_ASSIGNORS,
    ClientKind.AIOKAFKA: _STICKY,
    ClientKind.SARAMA: _STICKY,
    ClientKind.KAFKA_GO: _COMMON,
    ClientKind.KAFKAJS: frozenset(),
}
"""The assignors of each library that this library also has."""

_ADAPTED = (ClientKind.KAFKA_PYTHON, ClientKind.LIBRDKAFKA, ClientKind.AIOKAFKA)
"""Libraries for which this package has an adapter. The adapter for confluent-kafka joins the group itself, without
librdkafka."""

_PLUGGABLE = frozenset({ClientKind.KAFKA_PYTHON, ClientKind.AIOKAFKA})
"""Libraries whose consumers accept another assignor without changes."""

_EAGER_ONLY = frozenset({ClientKind.AIOKAFKA, ClientKind.SARAMA, ClientKind.KAFKA_GO, ClientKind.KAFKAJS})
"""Libraries that do not support the cooperative protocol, with any assignor."""

_ONE_PROTOCOL = frozenset({ClientKind.LIBRDKAFKA, ClientKind.KAFKA_PYTHON})
"""Libraries whose own consumers reject a list of eager and cooperative assignors. With this package's consumer class,
kafka-python accepts it."""

_NEVER_STATIC = frozenset({ClientKind.KAFKA_PYTHON_2, ClientKind.KAFKA_GO, ClientKind.KAFKAJS})
"""Libraries without ``group.instance.id`` (KIP-345); the last versions of kafka-python 2 have it, the others do not."""

_DEFAULT_IDS = (
    (ClientKind.LIBRDKAFKA, re.compile(r"rdkafka")),
    (ClientKind.KAFKA_PYTHON_2, re.compile(r"kafka-python-[0-2]\..*")),
    (ClientKind.KAFKA_PYTHON, re.compile(r"kafka-python-[0-9]+\..*")),
    (ClientKind.AIOKAFKA, re.compile(r"aiokafka-[0-9].*")),
    (ClientKind.FRANZ_GO, re.compile(r"kgo")),
    (ClientKind.SARAMA, re.compile(r"sarama")),
    (ClientKind.KAFKA_GO, re.compile(r".*\(github\.com/segmentio/kafka-go\)")),
    (ClientKind.KAFKAJS, re.compile(r"kafkajs")),
    (ClientKind.JAVA, re.compile(r".*-StreamThread-[0-9]+-consumer")),
)
"""Client ids that libraries use if users set none, in the order of checks; Java's default contains the group."""

_NAMES = {
    "kgo": ClientKind.FRANZ_GO,
    "kafka-python": ClientKind.KAFKA_PYTHON,
    "aiokafka": ClientKind.AIOKAFKA,
    "sarama": ClientKind.SARAMA,
}
"""The names that libraries send to brokers (KIP-511) or that instrumented clients report, besides those that
`ClientSoftware` recognises. The other libraries do not name themselves."""

_KAFKA_PYTHON_2 = re.compile(r"[0-2]\.")
"""The beginning of the versions of kafka-python before 3.0."""

_OWN_EAGER, _OWN_COOPERATIVE = "range", "cooperative-sticky"
"""The assignors of most clients, by which a gateway recognises an eager and a cooperative client."""

_GENERATION_BYTES = 4
"""Length of ``cooperative-sticky`` user data that is only a generation; librdkafka and franz-go write partitions."""


def possible_clients(
    event: GenerationEvent, reported: Mapping[str, ReportedClient] | None = None
) -> tuple[PossibleClients, ...]:
    """Return the different sets of libraries that members of this generation may use, sorted.

    Without the members for which a gateway runs the assignor. ``reported``: member id -> client, where known.
    """
    return _clients(event, reported or {}, behind_gateways=False)


def clients_behind_gateways(
    event: GenerationEvent, reported: Mapping[str, ReportedClient]
) -> tuple[PossibleClients, ...]:
    """Return, like `possible_clients`, the libraries of the members for which a gateway runs the assignor."""
    return _clients(event, reported, behind_gateways=True)


def _clients(
    event: GenerationEvent, reported: Mapping[str, ReportedClient], *, behind_gateways: bool
) -> tuple[PossibleClients, ...]:
    members = ((member, reported.get(member.member_id, ReportedClient())) for member in event.members)
    return tuple(
        sorted(
            {
                _kinds_behind_gateway(event, member, client)
                if behind_gateways
                else possible_kinds(event.group, event.assignor, member.client_id, member.user_data, client.software)
                for member, client in members
                if _gateway_runs(event, member, client) is behind_gateways
            }
        )
    )


def possible_kinds(
    group: str,
    assignor: str | None,
    client_id: str,
    user_data: bytes | None,
    software: ClientSoftware | None = None,
) -> PossibleClients:
    """Return the libraries that a member of ``group`` may use, given the assignor that the group uses.

    ``software``: the library of the member's client; None if nothing names it.
    """
    if kind := _known_kind(group, client_id, software):
        return (kind,)
    name = assignor or ""
    if is_adapted(name):
        return tuple(kind for kind in _ADAPTED if not (is_cooperative(name) and kind in _EAGER_ONLY))
    kinds = [kind for kind in ClientKind if name in _ASSIGNORS[kind] or name not in _ALL]
    if name == "cooperative-sticky" and len(user_data or b"") == _GENERATION_BYTES:
        kinds = [kind for kind in kinds if kind not in {ClientKind.LIBRDKAFKA, ClientKind.FRANZ_GO}]
    return tuple(kinds)


def _known_kind(group: str, client_id: str, software: ClientSoftware | None) -> ClientKind | None:
    """Return the library that the client names, or that its default client id identifies; None if neither does."""
    if software and (named := _named_kind(software)):
        return named
    if re.fullmatch(rf"consumer-{re.escape(group)}-[0-9]+", client_id):
        return ClientKind.JAVA
    return next((kind for kind, default in _DEFAULT_IDS if default.fullmatch(client_id)), None)


def _named_kind(software: ClientSoftware) -> ClientKind | None:
    """Return the library of that name and version; None if it is not known here."""
    if software.is_java:
        return ClientKind.JAVA
    if software.is_librdkafka:
        return ClientKind.LIBRDKAFKA
    kind = _NAMES.get(software.name)
    old = kind is ClientKind.KAFKA_PYTHON and _KAFKA_PYTHON_2.match(software.version)
    return ClientKind.KAFKA_PYTHON_2 if old else kind


def _gateway_runs(event: GenerationEvent, member: MemberSnapshot, client: ReportedClient) -> bool:
    """Return whether a gateway, not the member, runs the group's assignor.

    Both are possible if the library accepts other assignors. Consumers with this package's strategies are instrumented,
    so a gateway runs the strategy if the client does not report.
    """
    name = event.assignor or ""
    if not client.behind_gateway or find_strategy(name) is None:
        return False
    kind = _known_kind(event.group, member.client_id, client.software)
    if kind is None:
        return is_adapted(name) and not client.instrumented
    return name not in _ASSIGNORS[kind] and not (kind in _PLUGGABLE and client.instrumented)


def _kinds_behind_gateway(event: GenerationEvent, member: MemberSnapshot, client: ReportedClient) -> PossibleClients:
    if kind := _known_kind(event.group, member.client_id, client.software):
        return (kind,)
    name = event.assignor or ""
    return tuple(kind for kind in ClientKind if not is_cooperative(name) or own_assignor(name) in _ASSIGNORS[kind])


def is_adapted(name: str) -> bool:
    """Return whether only this package's adapters can run this assignor: it is a strategy that no client contains."""
    return name not in _ALL and find_strategy(name) is not None


def own_assignor(strategy: str) -> str:
    """Return an assignor that clients need of their own for a gateway that runs ``strategy``: of the same protocol."""
    return _OWN_COOPERATIVE if is_cooperative(strategy) else _OWN_EAGER


def change_to(kind: ClientKind, assignor: str | None, new: str) -> Change:
    """Return how members of that library, in a group that runs ``assignor``, change to ``new``."""
    adapted, newis_adapted = is_adapted(assignor or ""), is_adapted(new)
    if newis_adapted and not adapted and kind not in _PLUGGABLE:
        return Change.IMPOSSIBLE
    if not newis_adapted and new not in _ASSIGNORS[kind] and not adapted:
        return Change.IMPOSSIBLE
    if is_cooperative(new) and kind in _EAGER_ONLY:
        return Change.IMPOSSIBLE
    same_protocol = is_cooperative(assignor or "") == is_cooperative(new)
    if same_protocol or kind is not ClientKind.LIBRDKAFKA or adapted:
        return Change.ROLLING  # behind this library's adapter the member is not librdkafka
    return Change.STOP


def change_behind_gateway(kind: ClientKind, assignor: str | None, new: str) -> Change:
    """Return how members of that library change to ``new`` if a gateway runs ``assignor`` for them.

    A gateway runs a strategy only for clients with the same rebalance protocol.
    """
    if is_cooperative(assignor or "") == is_cooperative(new):
        return Change.RULE
    change = change_to(kind, own_assignor(assignor or ""), own_assignor(new))
    return Change.STOP if change is Change.ROLLING and kind in _ONE_PROTOCOL else change


def can_be_static(clients: Iterable[PossibleClients]) -> bool:
    """Return whether each member may use a library that has static membership."""
    return all(any(kind not in _NEVER_STATIC for kind in kinds) for kinds in clients)


def usable(
    clients: Iterable[PossibleClients],
    assignor: str | None,
    new: str,
    gateway_clients: Iterable[PossibleClients] = (),
) -> bool:
    """Return whether each member may use a library that can change to ``new``.

    ``gateway_clients``: those of the members for which a gateway runs ``assignor``.
    """
    ways = ((clients, change_to), (gateway_clients, change_behind_gateway))
    return all(
        any(change(kind, assignor, new) is not Change.IMPOSSIBLE for kind in kinds)
        for group, change in ways
        for kinds in group
    )
