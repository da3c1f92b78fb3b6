"""Finds classes of members: the members of a class subscribe to the same known topics."""

from __future__ import annotations

from rebalance_agent.assignors.roster import Roster

__all__ = ["topics_of_members"]


def topics_of_members(roster: Roster) -> list[tuple[int, ...]]:
    """Return a tuple per member that is equal for two members if and only if they subscribe to the same known topics.

    The tuples contain only the index of the first of several topics with equal subscribers.
    """
    subscribed: list[list[int]] = [[] for _ in roster.members]
    seen: set[int] = set()
    for topic, subscribers in enumerate(roster.subscribers):
        # Equal subscribers are one shared tuple, see Roster.
        if id(subscribers) not in seen:
            seen.add(id(subscribers))
            for member in subscribers:
                subscribed[member].append(topic)
    return [tuple(topics) for topics in subscribed]
