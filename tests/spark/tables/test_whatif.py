"""The pipeline's stages give the same results as the package ``advice``, which Spark runs in parallel."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from rebalance_agent.advice import fidelity, history_of, recommend, what_if
from rebalance_agent.advice.client_kinds import ClientKind
from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import AssignEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.pipeline.recommendations.recommendation_rows import recommendations
from rebalance_agent.pipeline.tables import whatif_tables as module
from rebalance_agent.pipeline.tables.advice_schemas import FIDELITY, RECOMMENDATIONS, WHATIF
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.whatif_tables import fidelities, read_studies, studies, whatif
from support.assignors.walks import Walk
from support.pipeline.event_rows import events_frame
from support.tracker.histories import START_MS, clustered, walked
from support.tracker.tracking import assigned


def of_group(events, group):
    """The same events as another group's."""
    return [
        replace(
            each,
            group=group,
            event_id=event_id("generation", "c", group, GroupType.CLASSIC, each.generation, each.timestamp_ms),
        )
        for each in events
    ]


GROUPS = {
    "clustered": clustered(8),
    "cooperative": clustered(6, name="cooperative-sticky", topics=3),
    # Members' user data is the same as with Kafka's own sticky: only the leader's reports show that the library ran.
    "reported": walked(Walk(1, newest=True), STRATEGIES["sticky"], 6),
    **{
        f"walk-{name}-{seed}": walked(Walk(seed, newest=True), STRATEGIES[name], 6)
        for name in ("range", "weighted-sticky", "shuffled-roundrobin")
        for seed in (1, 2)
    },
}
HISTORIES = {group: of_group(events, group) for group, events in GROUPS.items()}
ENDED = of_group(
    [replace(clustered(1)[0], cluster_id="\u8a9e", members=(), topics={}, assigned=0, unassigned=0)], "ended"
)
"""Retention left only the end of a group, without anything to replay, in a task with other groups."""
REPORTS = [
    AssignEvent(f"a{number}", "reported", START_MS, "sticky", "c", number, 0.1, 2, 6, "p", number)
    for number in range(1, 7)
]


FORGETFUL = {"range", "roundrobin"}
"""Strategies whose decisions do not depend on earlier ones."""


def study(spark, histories, reports=()):
    events = events_frame(spark, [*(event for each in histories.values() for event in each), *reports])
    return studies(generations(events), events).cache()


def rows(frame, *keys):
    return {tuple(row[key] for key in keys): row.asDict() for row in frame.collect()}


@pytest.fixture(scope="module")
def studied(spark):
    frame = study(spark, HISTORIES | {"ended": ENDED}, REPORTS)
    yield frame
    frame.unpersist()


def test_each_strategys_figures_equal_those_of_a_direct_call(studied):
    found = rows(whatif(studied), "group", "strategy")
    assert len(found) == (len(HISTORIES) + 1) * len(STRATEGIES)
    for group, events in HISTORIES.items():
        expected = what_if(history_of(events))
        for outcome in expected.outcomes:
            row, figures = found[group, outcome.strategy], outcome.figures
            assert row["refused"] == outcome.refused
            assert row["protocol"] == outcome.protocol
            if outcome.refused is None:
                assert (row["moved"], row["excess"]) == (figures.moved, figures.excess)
                assert row["skew_mean"] == pytest.approx(figures.skew_mean)
                assert row["stalled_partition_seconds"] == pytest.approx(figures.stalled_partition_seconds)
            else:
                assert (row["moved"], row["skew_mean"]) == (None, None)
            assert (row["recorded_assignor"], row["recorded_moved"]) == (expected.assignor, expected.recorded.moved)


def test_each_recommendation_equals_that_of_a_direct_call(studied):
    found = rows(recommendations(studied), "group")
    for group, events in HISTORIES.items():
        expected = recommend(what_if(history_of(events)))
        row = found[(group,)]
        assert (row["sentence"], row["strategy"]) == (expected.sentence, expected.strategy)
        assert row["saved_partition_seconds"] == pytest.approx(expected.saved_partition_seconds)
    assert found[("clustered",)]["strategy"] == "cooperative-sticky"


def test_decisions_of_the_library_are_repeated(studied):
    for (group, _, _), row in rows(fidelities(studied), "group", "assignor", "implementation").items():
        instrumented = {each.generation for each in REPORTS} if group == "reported" else ()
        (line,) = fidelity(history_of(HISTORIES[group]), instrumented).lines
        assert (row["checked"], row["not_comparable"]) == (line.checked, line.not_comparable)
        if group != "cooperative":
            assert row["checked"] == row["same_moves"] == row["same_skew"] == row["same_assignment"] > 0


def test_the_columns_are_those_of_the_tables(studied):
    for frame, table in ((whatif, WHATIF), (fidelities, FIDELITY), (recommendations, RECOMMENDATIONS)):
        made = frame(studied).schema
        assert [(each.name, each.dataType) for each in made] == [(each.name, each.dataType) for each in table.schema]


@pytest.mark.parametrize("piece_bytes", [3_000, 4_500, 6_000])  # of generations with 1,300 to 2,400
def test_a_long_history_comes_in_pieces_that_add_up(spark, monkeypatch, piece_bytes):
    monkeypatch.setattr(module, "CHUNK_BYTES", piece_bytes)
    groups = ("clustered", "cooperative", "walk-range-1")
    studied = study(spark, {group: HISTORIES[group] for group in groups}).toPandas()
    assert set(studied["group"]) == set(groups)
    for group, pieces in studied.groupby("group"):
        assert sorted(pieces["chunk"]) == list(range(len(pieces))), group
        assert len(pieces) > 1, group
        found, whole = read_studies(pieces), what_if(history_of(HISTORIES[group]))
        assert summed(found.whatif.recorded) == summed(whole.recorded), group
        for part, each in zip(found.whatif.outcomes, whole.outcomes, strict=True):
            assert (part.strategy, part.refused) == (each.strategy, each.refused), group
            if each.strategy in FORGETFUL:
                assert summed(part.figures) == summed(each.figures), (group, each.strategy)
            assert part.figures.generations == each.figures.generations, (group, each.strategy)
        assert found.fidelity == fidelity(history_of(HISTORIES[group])), group


def summed(figures):
    """Figures of parts add up except for the last digits; a member that leaves in one part and returns in the next did
    not restart."""
    named = asdict(figures).items()
    return {name: pytest.approx(value) for name, value in named if not name.startswith(("avoided", "waited"))}


def test_a_report_without_its_cluster_speaks_of_no_group_that_two_clusters_have(spark):
    here = HISTORIES["reported"]
    there = [replace(each, cluster_id="other", event_id=f"other-{each.event_id}") for each in here]
    found = rows(fidelities(study(spark, {"here": here, "there": there}, REPORTS)), "cluster_id", "assignor")
    assert {cluster: row["checked"] for (cluster, _), row in found.items()} == {"c": 0, "other": 0}


def test_a_report_with_its_cluster_speaks_of_that_ones_group_only(spark):
    here = HISTORIES["reported"]
    there = [replace(each, cluster_id="other", event_id=f"other-{each.event_id}") for each in here]
    reports = [replace(each, cluster_id="other") for each in REPORTS]
    found = rows(fidelities(study(spark, {"here": here, "there": there}, reports)), "cluster_id", "assignor")
    assert {cluster: row["checked"] for (cluster, _), row in found.items()} == {"c": 0, "other": len(REPORTS)}


def test_the_reports_of_the_last_members_name_their_clients(spark):
    """The last report of each member counts, although its sidecar does not know the cluster."""
    events = of_group([replace(each, assignor="weighted-sticky") for each in clustered(8, name="sticky")], "clients")
    emptied = replace(ENDED[0], group="clients", cluster_id="c", timestamp_ms=events[-1].timestamp_ms + 60_000)
    named = ClientSoftware("confluent-kafka-python", "2.16.1")
    reports = [
        replace(
            assigned(member.member_id, 0, at_ms, 1, ()).event,
            event_id=f"{member.member_id}-{at_ms}",
            group="clients",
            client_id=member.client_id,
            evidence=Evidence.GATEWAY,
            software=software,
        )
        for event in events
        for member in event.members
        for at_ms, software in ((0, ClientSoftware("kafka-python", "3.0.12")), (1, named), (2, None))
    ]
    distinct = list({each.event_id: each for each in reports}.values())
    found = read_studies(study(spark, {"clients": [*events, emptied]}, distinct).toPandas()).whatif
    assert (found.clients, found.gateway_clients) == ((), ((ClientKind.LIBRDKAFKA,),))


def test_a_group_that_no_task_can_hold_is_refused_by_name(spark, monkeypatch):
    monkeypatch.setattr(module, "EVENT_CHARACTERS_MAX", 100)
    found = read_studies(study(spark, {"clustered": HISTORIES["clustered"]}).toPandas()).whatif
    assert {"too large" in each.refused for each in found.outcomes} == {True}
    assert "too large" in recommend(found).sentence
