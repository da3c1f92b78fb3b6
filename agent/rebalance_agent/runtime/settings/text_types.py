"""Types of text settings, each with its check: addresses, patterns, topic names, URLs.

A check raises ``ValueError`` with the text that follows the setting's name in the error message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated

from pydantic import AfterValidator, Field

from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.http.events_post import EVENTS_PORT
from rebalance_agent.model.events import EVENT_KINDS
from rebalance_agent.runtime.settings.agent_ports import GATEWAY_PORT, KAFKA_PORT, WEB_PORT
from rebalance_agent.runtime.settings.webhook_target import webhook_target
from rebalance_agent.tracking.patterns.copartition import Copartitioned
from rebalance_agent.tracking.patterns.group_stalls import GroupStallLimits

__all__ = [
    "LOOPBACKS",
    "SERVERS",
    "WILDCARDS",
    "Declarations",
    "EventKinds",
    "EventsAddress",
    "GatewayAddress",
    "GroupLimits",
    "HostRules",
    "OptionalEventsAddress",
    "Pattern",
    "ReplicasGroup",
    "Text",
    "Topic",
    "WebAddress",
    "Webhook",
    "checked",
    "overlap",
    "server_addresses",
    "split_address",
]

PORT_MAX = 65535

SERVERS = "bootstrap.servers"

KAFKA_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

TEXT_MAX = 1_000
"""Maximum number of characters in a text setting: a longer text is a mistake."""

DECLARATIONS_TEXT_MAX = 10_000
"""Maximum number of characters in declarations for groups, which is a few dozen lines."""

TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")

INTERNAL_TOPICS = (OFFSETS_TOPIC, "__transaction_state", "__share_group_state")

WILDCARDS = {"0.0.0.0", "::"}  # noqa: S104 - compared with, not listened on
LOOPBACKS = {"127.0.0.1", "localhost"}


def split_address(address: str, example_port: int = EVENTS_PORT, port_min: int = 0) -> tuple[str, int]:
    """Return the host and port of ``host:port``; an IPv6 address has brackets. Errors show ``example_port``.

    ``port_min``: 0 if the address is for listening, where port 0 is any free port; else 1.

    Raises:
        ValueError: the text is not an address, or the port is not between ``port_min`` and 65535.
    """
    host, colon, port = address.rpartition(":")
    is_number = port.isascii() and port.isdigit()
    if is_number and (len(port) > len(str(PORT_MAX)) or not port_min <= int(port) <= PORT_MAX):
        raise ValueError(f"the port must be {port_min} to {PORT_MAX}, such as {host or '127.0.0.1'}:{example_port}")
    if not (colon and host and is_number):
        raise ValueError(f"must be host:port, such as 127.0.0.1:{example_port} or [::1]:{example_port}")
    if re.search(r"[\s/@]", host):
        raise ValueError("must begin with an address or a host name")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError(f"an IPv6 address must have brackets, such as [::1]:{example_port}")
    try:
        host.encode("idna")
    except UnicodeError:
        raise ValueError("must begin with an address or a host name") from None
    return host.removeprefix("[").removesuffix("]"), int(port)


def server_addresses(properties: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    """Return the hosts and ports in ``bootstrap.servers``, without repetitions; without the property, none.

    As in librdkafka, the protocol and the port are optional. librdkafka ignores wrong entries, and waits without end if
    no entry is left.

    Raises:
        InvalidInputError: the property contains no address, or a wrong one.
    """
    if not (text := properties.get(SERVERS)):
        return ()
    protocol = properties.get("security.protocol", "plaintext").upper()
    addresses = []
    for server in filter(None, map(str.strip, text.split(","))):
        try:
            addresses.append(_server_address(server, protocol))
        except ValueError as error:
            # A user and a password may come before "@".
            raise InvalidInputError(f"kafka.{SERVERS}", f"{server.rpartition('@')[2]}: {error}") from None
    if not addresses:
        raise InvalidInputError(f"kafka.{SERVERS}", "contains no server")
    return tuple(dict.fromkeys(addresses))


def _server_address(server: str, protocol: str) -> tuple[str, int]:
    prefix, separator, address = server.partition("://") if "://" in server else ("", "", server)
    if separator and prefix.upper() not in KAFKA_PROTOCOLS:
        raise ValueError(f"remove {prefix}://")
    if separator and prefix.upper() != protocol:
        raise ValueError(f"remove {prefix}://, or set security.protocol to {prefix.upper()}")
    has_port = ":" in address.rpartition("]")[2] if address.startswith("[") else ":" in address
    return split_address(address if has_port else f"{address}:{KAFKA_PORT}", KAFKA_PORT, port_min=1)


def checked(check: Callable[[str], object], *, empty: bool = True) -> AfterValidator:
    """Return a validator of texts; ``check`` raises if a text is invalid. ``empty``: accept an empty string."""

    def validate(text: str) -> str:
        try:
            if text or not empty:
                check(text)
        except InvalidInputError as error:
            raise ValueError(error.problem) from None
        return text

    return AfterValidator(validate)


def _pattern(text: str) -> None:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression: {error}") from None


def _topic(text: str) -> None:
    if not TOPIC_NAME.fullmatch(text) or text in (".", ".."):
        raise ValueError("is not a topic name (letters, digits, '.', '_', '-'; at most 249)")
    if text in INTERNAL_TOPICS:
        raise ValueError("is an internal topic of the brokers")


def overlap(one: tuple[str, int], other: tuple[str, int]) -> bool:
    """Return whether no process can listen on both addresses; port 0 is any free port, and overlaps no other port."""
    hosts = {one[0], other[0]}
    return one[1] == other[1] != 0 and (len(hosts) == 1 or bool(hosts & WILDCARDS) or hosts <= LOOPBACKS)


def _replicas_group(text: str) -> None:
    if not text.startswith("rebalance-agent"):
        raise ValueError("must begin with rebalance-agent, so that groups_deny hides this group by default")


def _event_kinds(text: str) -> None:
    if unknown := [kind for kind in text.split() if kind not in EVENT_KINDS]:
        raise ValueError(f"{unknown[0]!r} is not a kind of event; the kinds are {', '.join(EVENT_KINDS)}")


Text = Annotated[str, Field(max_length=TEXT_MAX)]
EventsAddress = Annotated[str, checked(split_address, empty=False), Field(max_length=TEXT_MAX)]
GatewayAddress = Annotated[
    str, checked(partial(split_address, example_port=GATEWAY_PORT), empty=False), Field(max_length=TEXT_MAX)
]
OptionalEventsAddress = Annotated[str, checked(split_address), Field(max_length=TEXT_MAX)]
WebAddress = Annotated[
    str, checked(partial(split_address, example_port=WEB_PORT), empty=False), Field(max_length=TEXT_MAX)
]
Webhook = Annotated[str, checked(webhook_target), Field(max_length=TEXT_MAX)]
Pattern = Annotated[str, checked(_pattern), Field(max_length=TEXT_MAX)]
Topic = Annotated[str, checked(_topic)]
EventKinds = Annotated[str, checked(_event_kinds), Field(max_length=TEXT_MAX)]
ReplicasGroup = Annotated[str, checked(_replicas_group), Field(max_length=TEXT_MAX)]
Declarations = Annotated[str, checked(Copartitioned.parse), Field(max_length=DECLARATIONS_TEXT_MAX)]
GroupLimits = Annotated[str, checked(GroupStallLimits.parse), Field(max_length=DECLARATIONS_TEXT_MAX)]
HostRules = Annotated[str, checked(HostNames.parse), Field(max_length=DECLARATIONS_TEXT_MAX)]
