"""Describes the topology of a streams group: which topics its subtopologies read and write. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_agent.model.epoch_groups import StreamsTopology, Subtopology
from rebalance_agent.ui.words import UNKNOWN, plural, printable

__all__ = ["TOPOLOGY_HEADINGS", "topology_rows", "topology_text"]

TOPOLOGY_HEADINGS = ("subtopology", "reads", "writes", "changelog topics", "stores")
"""Headings of the rows that `topology_rows` returns."""

TOPICS_LISTED_MAX = 8
"""Maximum number of topics that are listed in a sentence; further topics are only counted."""

SUBTOPOLOGIES_LISTED_MAX = 8
"""Maximum number of subtopologies in `topology_text`; further subtopologies are only counted."""


def topology_rows(topology: StreamsTopology) -> list[tuple[str, ...]]:
    """Return a row for each subtopology, and one for the topics of global stores."""
    rows = [
        (
            printable(each.subtopology_id),
            *(_cell(topics) for topics in (_read(each), _written(each), each.changelog_topics, each.stores or ())),
        )
        for each in topology.subtopologies
    ]
    if topology.global_topics:
        rows.append(("global stores", _cell(topology.global_topics), UNKNOWN, UNKNOWN, UNKNOWN))
    return rows


def topology_text(topology: StreamsTopology) -> str:
    """Return ``Subtopology 0: reads orders; writes totals; changelog topic store-changelog`` for each subtopology."""
    texts = [
        f"Subtopology {printable(each.subtopology_id)}: {'; '.join(_parts(each))}"
        for each in topology.subtopologies[:SUBTOPOLOGIES_LISTED_MAX]
    ]
    if (further := len(topology.subtopologies) - SUBTOPOLOGIES_LISTED_MAX) > 0:
        words = "subtopology is" if further == 1 else "subtopologies are"
        texts.append(f"{further} more {words} not listed")
    if topology.global_topics:
        texts.append(f"Global stores: read {_listed(topology.global_topics)}")
    return ". ".join(texts)


def _parts(each: Subtopology) -> Iterator[str]:
    yield f"reads {_listed(_read(each)) or 'no topic'}"
    if written := _written(each):
        yield f"writes {_listed(written)}"
    if each.changelog_topics:
        words = "changelog topic" if len(each.changelog_topics) == 1 else "changelog topics"
        yield f"{words} {_listed(each.changelog_topics)}"


def _read(each: Subtopology) -> tuple[str, ...]:
    return each.source_topics + each.repartition_source_topics


def _written(each: Subtopology) -> tuple[str, ...]:
    return (each.sink_topics or ()) + each.repartition_sink_topics


def _cell(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names)) or UNKNOWN


def _listed(names: Sequence[str]) -> str:
    further = len(names) - TOPICS_LISTED_MAX
    text = ", ".join(map(printable, names[:TOPICS_LISTED_MAX]))
    return f"{text} and {plural(further, 'more topic')}" if further > 0 else text
