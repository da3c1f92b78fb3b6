"""Rules that name a member's host after the member's address, its pod or node, or a part of its client id. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.group_patterns import compiled_pattern, first_match, split_entries
from rebalance_agent.model.reported.workload import Workload

__all__ = ["CLIENT_ID_MAX", "RULES_MAX", "HostNames", "HostRule"]

RULES_MAX = 100
"""Maximum number of rules, since each is matched against every group."""

CLIENT_ID_MAX = 256
"""Maximum number of characters of a client id that an expression reads: clients choose ids, and matching takes time."""

_ADDRESS = "address"
_REPORTED = ("pod", "node")


@dataclass(frozen=True, slots=True)
class HostRule:
    """A rule that names the host of a member.

    ``client_id``: a regular expression for the whole client id; its first capturing group is the host. ``attribute``:
    the attribute of `Workload` that is the host. If neither gives a host, the host is the member's address.
    """

    client_id: re.Pattern[str] | None = None
    attribute: str | None = None

    def name(self, client_id: str, address: str, where: Workload | None = None) -> str:
        """Return a member's host; ``address`` comes from the member's record, ``where`` from its sidecar."""
        if self.client_id is not None and (found := self.client_id.fullmatch(client_id[:CLIENT_ID_MAX])):
            host: str = found[1] or ""
        else:
            host = getattr(where, self.attribute) or "" if self.attribute and where else ""
        return host or address.removeprefix("/")


@dataclass(frozen=True, slots=True)
class HostNames:
    """The rules of single groups; the first entry whose pattern matches the whole name applies."""

    entries: tuple[tuple[re.Pattern[str], HostRule], ...] = ()

    @classmethod
    def parse(cls, text: str) -> HostNames:
        """Parse entries ``GROUPS=RULE``, separated by newlines or semicolons.

        ``RULE``: ``address``, ``pod``, ``node``, or a regular expression for client ids with a group.

        Raises:
            InvalidInputError: an invalid regular expression or rule, or too many entries.
        """
        return cls(tuple(map(_entry, split_entries(text, RULES_MAX))))

    def of(self, group: str) -> HostRule:
        """Return the rule of ``group``."""
        return first_match(self.entries, group, HostRule())


def _entry(entry: str) -> tuple[re.Pattern[str], HostRule]:
    groups, _, rule = (part.strip() for part in entry.partition("="))
    if not (groups and rule):
        raise InvalidInputError("", rf"{entry!r} is not GROUPS=RULE, such as orders-.*=(app\d+)-.*")
    return compiled_pattern(groups), _rule(rule)


def _rule(rule: str) -> HostRule:
    if rule == _ADDRESS:
        return HostRule()
    if rule in _REPORTED:
        return HostRule(attribute=rule)
    pattern = compiled_pattern(rule)
    if not pattern.groups:
        raise InvalidInputError(
            "", rf"{rule!r} is not {_ADDRESS}, {', '.join(_REPORTED)} or a pattern with a group, such as (app\d+)-.*"
        )
    return HostRule(client_id=pattern)
