"""The topology of a streams group, in sentences of `explain` and in a table of the page."""

from dataclasses import replace

from rebalance_agent.model.epoch_groups import StreamsTopology, Subtopology
from rebalance_agent.ui.sentences.topology_text import TOPOLOGY_HEADINGS, topology_rows, topology_text
from rebalance_agent.ui.words import UNKNOWN

FIRST = Subtopology("0", ("customers", "orders"), (), ("g-by-day-repartition",), ("g-a-changelog",))
SECOND = Subtopology(
    "1", (), ("g-by-day-repartition",), (), ("g-b-changelog", "g-c-changelog"), ("totals",), ("b", "c")
)
TOPOLOGY = StreamsTopology(1, (FIRST, SECOND), ("rates",))


def test_the_sentences_name_the_topics_of_each_subtopology():
    assert topology_text(TOPOLOGY) == (
        "Subtopology 0: reads customers, orders; writes g-by-day-repartition; changelog topic g-a-changelog. "
        "Subtopology 1: reads g-by-day-repartition; writes totals; changelog topics g-b-changelog, g-c-changelog. "
        "Global stores: read rates"
    )
    assert topology_text(StreamsTopology(1, (Subtopology("0", (), (), (), ()),))) == "Subtopology 0: reads no topic"


def test_the_table_has_a_row_for_each_subtopology_and_the_global_stores():
    rows = [dict(zip(TOPOLOGY_HEADINGS, row, strict=True)) for row in topology_rows(TOPOLOGY)]
    assert [row["subtopology"] for row in rows] == ["0", "1", "global stores"]
    assert (rows[0]["reads"], rows[0]["writes"], rows[0]["stores"]) == (
        "customers, orders",
        "g-by-day-repartition",
        UNKNOWN,
    )
    assert (rows[1]["writes"], rows[1]["changelog topics"]) == ("totals", "g-b-changelog, g-c-changelog")
    assert (rows[1]["stores"], rows[2]["reads"]) == ("b, c", "rates")
    assert len(topology_rows(replace(TOPOLOGY, global_topics=()))) == 2


def test_many_topics_and_subtopologies_are_counted():
    wide = replace(FIRST, source_topics=tuple(f"t{number}" for number in range(10)))
    text = topology_text(StreamsTopology(1, (wide,) * 10))
    assert "reads t0, t1, t2, t3, t4, t5, t6, t7 and 2 more topics; writes" in text
    assert (text.count("Subtopology 0: "), text.endswith(". 2 more subtopologies are not listed")) == (8, True)
    assert topology_text(StreamsTopology(1, (FIRST,) * 9)).endswith(". 1 more subtopology is not listed")


def test_control_characters_are_not_printed():
    name = "\x1b[1m"
    evil = StreamsTopology(1, (Subtopology(name, *[(name,)] * 6),), (name,))
    assert name not in "".join((topology_text(evil), *(cell for row in topology_rows(evil) for cell in row)))
