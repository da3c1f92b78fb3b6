"""The result of one task for a part of a group's history, without Spark."""

from __future__ import annotations

import json

import pandas as pd

from rebalance_agent.advice import fidelity, history_of, recommend, what_if
from rebalance_agent.model.event_json import PARTITIONS_MAX, event_to_json, json_line, value_to_json
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import PARTITION_MAX
from rebalance_agent.pipeline.tables.whatif_tables import NOT_IN_WORKER, Study, read_studies, study_of
from support.tracker.histories import clustered

HISTORY = clustered(6)


def piece(bodies, events=HISTORY):
    columns = {"leads": False, "instrumented": False, "largest": max(map(len, bodies))}
    rows = [
        {"event_id": event.event_id, "generation": event.generation, "body": body, **columns}
        for event, body in zip(events, bodies, strict=True)
    ]
    return pd.DataFrame(rows)


def stored(*studies):
    texts = [json.dumps(value_to_json(each)) for each in studies]
    return pd.DataFrame({"chunk": range(len(texts)), "study": texts})


def bodies(events):
    return [json_line(event).decode() for event in events]


def test_the_result_of_a_part_equals_that_of_the_advice_package():
    study = study_of("c", "g", piece(bodies(HISTORY)))
    history = history_of(HISTORY)
    assert read_studies(stored(study)) == Study(what_if(history), fidelity(history))


def test_a_generation_with_valid_parts_and_an_invalid_whole_refuses_only_its_group():
    """Earlier releases stored such generations."""
    data = event_to_json(HISTORY[-1])
    large = data["members"][0] | {"assigned": {"t": f"0-{PARTITION_MAX - 1}"}}
    data["members"] = [large | {"member_id": f"m{number}"} for number in range(PARTITIONS_MAX // PARTITION_MAX + 1)]
    some = study_of("c", "g", piece(bodies(HISTORY)))
    study = study_of("c", "g", piece([*bodies(HISTORY)[:-1], json.dumps(data)]))
    # Independent of the other parts of the group.
    for reported in ([study], [some, study], [study, some]):
        found = read_studies(stored(*reported)).whatif
        assert {(each.refused or "").partition(":")[0] for each in found.outcomes} == {"too large"}
        assert "cannot be read" in recommend(found).sentence


def test_a_strategy_missing_in_the_worker_is_refused_there():
    known = {"range": RebalanceProtocol.EAGER, "theirs": RebalanceProtocol.EAGER, "sticky": RebalanceProtocol.EAGER}
    outcomes = study_of("c", "g", piece(bodies(HISTORY)), known).whatif.outcomes
    assert [(each.strategy, each.refused) for each in outcomes] == [
        ("range", None),
        ("theirs", NOT_IN_WORKER),
        ("sticky", None),
    ]
    unread = study_of("c", "g", piece(bodies(HISTORY)).assign(body=None), known)
    assert [each.strategy for each in unread.whatif.outcomes] == list(known)
