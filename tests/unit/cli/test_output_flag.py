"""``--output`` writes the same result as JSON, YAML and CSV."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import is_dataclass
from typing import get_args, get_type_hints

import pytest
import yaml

from rebalance_agent.api.query import GroupQuery
from rebalance_agent.api.shapes import GroupSummary, Rebalance
from rebalance_agent.cli import main
from rebalance_agent.cli.commands import explain, watch
from rebalance_agent.cli.output_flag import as_csv, as_text, summary_text
from rebalance_agent.cli.screens.decode_text import CSV_COLUMNS, record_texts
from rebalance_agent.cli.screens.whatif_text import CSV_COLUMNS as WHATIF_COLUMNS
from rebalance_agent.cli.screens.whatif_text import csv_rows
from support.http.api import api_of
from support.observer.fakes import generation_event
from support.observer.views import full_view

CHECK = ("check", "--idle", "--listen", "127.0.0.1:0")


@pytest.fixture
def agent(monkeypatch):
    event = generation_event(event_id="id", group="orders", generation=2, previous_generation=1, timestamp_ms=2_000)
    api, *_ = api_of(full_view("orders"), full_view("=quiet\n"), events=[event])
    for command in (watch, explain):
        monkeypatch.setattr(command, "quiet_logs", lambda: None)
        monkeypatch.setattr(command, "agent_api", lambda _options: api)
    return api


def printed(capsys, *arguments):
    assert main.main(arguments) == 0
    return capsys.readouterr().out


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("command", [("strategies", "range", "sticky"), CHECK, ("watch",), ("explain", "orders")])
def test_json_and_yaml_have_the_same_content(agent, capsys, command):
    value = json.loads(printed(capsys, *command, "--output", "json"))
    assert json.loads(printed(capsys, *command, "--json")) == value
    assert yaml.safe_load(printed(capsys, *command, "--output=yaml")) == value
    assert value


def test_groups_are_written_in_the_order_and_with_the_filter_of_the_table(agent, capsys):
    listed = json.loads(printed(capsys, "watch", "--output", "json", "--sort=-group"))
    assert [group["group"] for group in listed["groups"]] == ["orders", "=quiet\n"]
    assert [row["group"] for row in rows(printed(capsys, "watch", "ORD", "--output", "csv"))] == ["orders"]


def is_field(shape, column):
    """Whether the dotted name leads from field to field of dataclasses."""
    for name in column.split("."):
        fields = get_type_hints(shape)
        if name not in fields:
            return False
        shape = next((kind for kind in get_args(fields[name]) if is_dataclass(kind)), fields[name])
    return True


@pytest.mark.parametrize(("columns", "shape"), [(watch.COLUMNS, GroupSummary), (explain.COLUMNS, Rebalance)])
def test_the_columns_of_csv_are_fields_of_the_api(columns, shape):
    assert [column for column in columns if not is_field(shape, column)] == []
    assert not is_field(GroupSummary, "last.stall.gone")


def test_the_csv_of_groups_has_a_line_for_each(agent, capsys):
    (row,) = rows(printed(capsys, "watch", "orders", "--output", "csv"))
    orders = next(group for group in agent.groups(GroupQuery()).groups if group.group == "orders")
    assert list(row) == list(watch.COLUMNS)
    assert row["running.started_ms"] == str(orders.running.started_ms)
    assert (row["state"], row["members"], row["empty.since_ms"]) == (orders.state, str(orders.members), "")


def test_the_csv_of_explain_has_a_line_for_each_rebalance(agent, capsys):
    (row,) = rows(printed(capsys, "explain", "orders", "--output", "csv"))
    assert list(row) == list(explain.COLUMNS)
    assert (row["id"], row["generation"], row["timestamp_ms"]) == ("id", "2", "2000")


def test_the_csv_of_checks_and_strategies_has_a_line_for_each(capsys):
    assert [row["status"] for row in rows(printed(capsys, *CHECK, "--output", "csv"))] == ["ok", "skipped"]
    listed = rows(printed(capsys, "strategies", "range", "sticky", "--output", "csv"))
    assert [(row["name"], row["protocol"]) for row in listed] == [("range", "eager"), ("sticky", "eager")]


def test_the_csv_of_whatif_begins_with_what_was_recorded():
    result = {
        "assignor": "range",
        "protocol": "eager",
        "clustered_anew": None,
        "recorded": {"moved": 4},
        "strategies": [
            {"strategy": "sticky", "protocol": "eager", "moved": 2},
            {"strategy": "failover", "refused": "why"},
        ],
    }
    written = rows(as_csv(WHATIF_COLUMNS, csv_rows(result)))
    assert [(row["strategy"], row["recorded"], row["moved"], row["refused"]) for row in written] == [
        ("range", "true", "4", ""),
        ("sticky", "false", "2", ""),
        ("failover", "false", "", "why"),
    ]


RECORDS = (
    {"kind": "offset_commit", "group": "orders", "topic": "t", "partition": 3, "offset": 9, "record_partition": 1},
    {"kind": "group_metadata", "group": "=x\n", "generation": 2, "members": [{"id": "a"}, {"id": "b"}]},
)


def test_decoded_records_are_written_one_by_one_in_every_form():
    source = iter(RECORDS)
    texts = record_texts(source, "csv")
    assert [next(texts), next(texts)] == [
        ",".join(CSV_COLUMNS),
        ",1,,offset_commit,orders,,,,,,,,,t,3,9,,",
    ]
    assert next(source) == RECORDS[1]  # the second record was not read before its line was wanted
    (row,) = list(csv.DictReader([",".join(CSV_COLUMNS), list(record_texts(RECORDS, "csv"))[2]]))
    assert (row["group"], row["generation"], row["members"]) == ("'=x\\n", "2", "2")
    assert list(yaml.safe_load_all("\n".join(record_texts(RECORDS, "yaml")))) == list(RECORDS)
    assert [json.loads(text) for text in record_texts(RECORDS, "json")] == list(RECORDS)
    table = [line.split() for line in record_texts(RECORDS, "table")]
    (timed,) = record_texts([{"record_timestamp": 1_795_269_731_352, "kind": "offset_commit"}], "table")
    assert timed == "2026-11-21 14:02:11.352 UTC  offset_commit"
    assert table == [
        ["offset_commit", "orders", "record_partition=1", "topic=t", "partition=3", "offset=9"],
        ["group_metadata", "=x\\n", "generation=2", "members=2"],
    ]


def test_the_decode_command_takes_the_form(capsys, tmp_path):
    path = tmp_path / "records.ndjson"
    path.write_text(json.dumps({"key": "AAIAAWc=", "value": None, "timestamp": 7}))
    (row,) = rows(printed(capsys, "decode", str(path), "--output", "csv"))
    assert (row["kind"], row["group"], row["record_timestamp"], row["tombstone"]) == (
        "group_metadata",
        "g",
        "7",
        "true",
    )
    assert main.main(["decode", "--bootstrap-servers", "h:1", "--raw", "--output", "csv"]) == 2
    assert "--output: must be json with --raw" in capsys.readouterr().err


GROUP = {
    "topics": {"t": {"partitions": 4}},
    "members": [{"id": "a", "topics": ["t"], "owned": {"t": [0, 1, 2, 3]}}, {"id": "b", "topics": ["t"]}],
}


def test_an_assignment_has_a_line_for_each_member_and_topic_or_for_each_partition(capsys, tmp_path):
    path = tmp_path / "group.json"
    path.write_text(json.dumps(GROUP))
    command = ("assign", "--strategy", "cooperative-sticky", str(path), "--output")
    table = printed(capsys, *command, "table").splitlines()
    assert [line.split() for line in table[:3]] == [
        ["MEMBER", "TOPIC", "ASSIGNMENT", "REVOKING"],
        ["a", "t", "0,2", "1,3"],
        ["b"],
    ]
    assert "moved 2 partitions that change their owner" in [" ".join(line.split()) for line in table]
    listed = [tuple(row.values()) for row in rows(printed(capsys, *command, "csv"))]
    parts = [(0, "assignment"), (2, "assignment"), (1, "revoking"), (3, "revoking")]
    assert listed == [("a", "t", str(number), part) for number, part in parts]
    assert yaml.safe_load(printed(capsys, *command, "yaml")) == json.loads(printed(capsys, *command, "json"))
    assert main.main([*command, "table", "--ndjson"]) == 2
    assert "--output: must be json with --ndjson" in capsys.readouterr().err


def test_the_result_of_a_run_has_nested_values_under_dotted_names():
    summary = {"groups": 2, "fidelity": {"moves": 0.5, "skew": None}}
    assert rows(summary_text(summary, "csv")) == [{"groups": "2", "fidelity.moves": "0.5", "fidelity.skew": ""}]
    assert [line.split() for line in summary_text(summary, "table").splitlines()] == [
        ["RESULT", "VALUE"],
        ["groups", "2"],
        ["fidelity.moves", "0.5"],
        ["fidelity.skew", "-"],
    ]
    assert json.loads(summary_text(summary, "json")) == yaml.safe_load(summary_text(summary, "yaml")) == summary


def test_a_cell_is_no_formula_and_stays_on_its_line():
    values = {"a": "=1+1", "b": 'x\n"y", z', "c": -1.5, "d": ["p", "q"], "e": {"f": True}}
    (row,) = rows(as_csv(["a", "b", "c", "d", "e.f", "e.g", "g.h"], [values]))
    assert [*row.values()] == ["'=1+1", 'x\\n"y", z', "-1.5", "p q", "true", "", ""]


def test_yaml_escapes_what_a_terminal_would_act_upon():
    assert "\x1b" not in as_text({"group": "\x1b[2J"}, "yaml")


def test_yaml_without_its_package_names_the_extra(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert main.main(["strategies", "--output", "yaml"]) == 2
    assert "pip install '.[agent]'" in capsys.readouterr().err
