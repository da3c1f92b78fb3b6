"""`rebalance-agent verify --tables` with tables from a captured topic's events, correct and damaged."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from rebalance_agent.cli.inputs import pipeline_flags, verify_tables
from rebalance_agent.cli.main import main
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.group_hours import group_hours

GOLDEN = Path(__file__).parents[2] / "golden"
LINES = (GOLDEN / "captured_topic_events.ndjson").read_text(encoding="utf-8").splitlines()
RECORDS = (GOLDEN / "captured_topic.ndjson").read_text(encoding="utf-8").splitlines()[1:]
GENERATIONS = sum(json.loads(line)["kind"] == "generation" for line in LINES)
ONE = next(each for each in map(json.loads, LINES) if each["group"] == "eager" and each.get("moved"))
"""An event with moves."""
WHERE = f"event_id = '{ONE['event_id']}'"


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory):
    """Tables that the pipeline creates from all events, and the records of these events."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "events").mkdir()
    _write(folder / "events" / "events.ndjson", LINES)
    _write(folder / "records.ndjson", RECORDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline_flags, "open_session", lambda *_: nullcontext(spark))
        tables = ("--tables", str(folder / "tables"))
        assert main(["pipeline", "ingest", *tables, "--events", str(folder / "events")]) == 0
        assert main(["pipeline", "aggregate", *tables]) == 0
    return folder


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "own")
    return tmp_path / "own"


@pytest.fixture
def verify(spark, folder, monkeypatch, capsys):
    monkeypatch.setattr(verify_tables, "open_session", lambda *_: nullcontext(spark))

    def run(*flags):
        capsys.readouterr()
        files = ("--records", str(folder / "records.ndjson"), "--tables", str(folder / "tables"))
        code = main(["verify", *files, "--grace-seconds", "0", *flags])  # the whole capture covers seconds
        reported = capsys.readouterr()
        return code, reported.out, reported.err

    return run


def _write(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _differences(found, table):
    report = found if table == "events" else found["tables"][table]
    return [(each["group"], each["generation"], each["what"]) for each in report["differences"]]


def test_tables_of_the_pipeline_are_clean(verify):
    code, out, err = verify()
    assert code == 0
    assert out == (
        "table events: no difference; 24 facts of 4 groups were published correctly and exactly once; "
        "not checked: 2 without a known predecessor\n"
        f"table generations: no difference; {GENERATIONS} facts of 4 groups were published correctly and exactly once; "
        "4 hours match the sums of their generations; not checked: 2 without a known predecessor\n"
    )
    assert [line for line in err.splitlines() if line.startswith("verify: ")] == [
        f"verify: table {name}" for name in ("events", "generations", "members", "group_hours")
    ]


MOVED = [each for each in map(json.loads, LINES) if each.get("moved")]
"""Events with moves: each falsification is of another one, so that one run names them all."""
LIES = {
    "DELETE FROM generations WHERE {where}": "has no event",
    "INSERT INTO generations SELECT * FROM generations WHERE {where}": "was published twice",
    "UPDATE generations SET moved = moved + 1 WHERE {where}": "moved is",
    "UPDATE generations SET body = '{{}}' WHERE {where}": "its body is not an event",
    "UPDATE generations SET moved = 1, body = {body} WHERE {where}": "in the records, 1 in the event",
    "DELETE FROM members WHERE {where} AND {member}": "rows of members",
    "UPDATE members SET partitions = partitions + 1 WHERE {where}": "rows of members",
}


def _about(lie, event):
    """The statement that falsifies the table's row of this event."""
    return lie.format(
        where=f"event_id = '{event['event_id']}'",
        body=f"replace(body, '\"moved\":{event['moved']}', '\"moved\":1')",
        member=f"member_id = '{event['members'][0]['member_id']}'",
    )


def test_each_damaged_row_is_named(verify, spark, folder):
    about = list(zip(LIES, MOVED[: len(LIES)], strict=True))
    for lie, event in about:
        spark.sql(re.sub(r"(FROM|INTO|UPDATE) (\w+)", rf"\1 delta.`{folder}/tables/\2`", _about(lie, event)))
    code, out, _ = verify("--json")
    found = json.loads(out)
    assert (code, found["clean"], _differences(found, "events")) == (1, False, [])
    reported = _differences(found, "generations")
    for lie, event in about:
        named = [what for *which, what in reported if which == [event["group"], event["generation"]]]
        assert any(LIES[lie] in what for what in named), (lie, reported)


def test_each_damaged_hour_is_named(verify, spark, folder):
    lies = {
        "eager": ("UPDATE {} SET moved = moved + 1", "moved is"),
        "cooperative": ("UPDATE {} SET by_trigger = CAST(map() AS MAP<STRING, BIGINT>)", "by_trigger is {}, but "),
        "coordinated": ("DELETE FROM {}", "it has no row"),
    }
    for group, (lie, _) in lies.items():
        spark.sql(lie.format(f"delta.`{folder}/tables/group_hours`") + f" WHERE `group` = '{group}'")
    code, out, _ = verify("--json")
    found = json.loads(out)
    reported = {group: what for group, _, what in _differences(found, "generations")}
    assert (code, reported.keys(), _differences(found, "events")) == (1, lies.keys(), [])
    for group, what in reported.items():
        assert re.fullmatch(rf"in the hour \d{{4}}-\d\d-\d\dT\d\d:00Z {re.escape(lies[group][1])}.*", what)


def test_missing_and_duplicate_events_of_the_table_are_named(verify, spark, folder):
    events = f"delta.`{folder}/tables/events`"
    spark.sql(f"INSERT INTO {events} SELECT * FROM {events} WHERE kind = 'group_gone'")
    spark.sql(f"DELETE FROM {events} WHERE {WHERE}")
    code, out, _ = verify("--json")
    reported = _differences(json.loads(out), "events")
    assert code == 1
    assert ("eager", ONE["generation"], f"generation {ONE['generation']} has no event") in reported
    assert any(what == "deletion was published twice" for _, _, what in reported)


def test_events_after_the_creation_of_tables_may_be_missing(verify, spark, folder):
    """`ingest` ran since, and `aggregate` did not."""
    events, since = f"delta.`{folder}/tables/events`", f"timestamp_millis({ONE['timestamp_ms']})"
    for name in ("generations", "members"):
        spark.sql(f"DELETE FROM delta.`{folder}/tables/{name}` WHERE completed_at >= {since}")
    tables = DeltaTables(spark, str(folder / "tables"))
    before = tables.read("events").where(f"timestamp < {since}")
    tables.overwrite("group_hours", group_hours(tables.read("generations"), before))
    assert verify()[0] == 1
    later = f"timestamp >= {since}"
    spark.sql(f"UPDATE {events} SET ingested_at = ingested_at + INTERVAL 1 DAY WHERE {later}")
    code, out, _ = verify()
    assert code == 0
    assert "table generations: no difference" in out
    assert " too new to have been published" in out.splitlines()[1]


@pytest.mark.parametrize(
    ("tables", "flags", "reported"),
    [
        (
            "elsewhere",
            (),
            "must have events of only one cluster, or of the cluster of --bootstrap-servers; the table has no events",
        ),
        ("tables", ("--groups", "copo.*"), "--groups: no record and no event belongs to a group that matches 'copo.*'"),
    ],
)
def test_a_cluster_without_facts_is_an_error(tables, flags, reported, verify, folder):
    code, out, err = verify("--tables", str(folder / tables), *flags)
    assert (code, out) == (2, "")
    assert reported in err


def test_tables_of_two_clusters_need_a_cluster_id(verify, spark, folder):
    events = f"delta.`{folder}/tables/events`"
    spark.sql(f"UPDATE {events} SET cluster_id = 'other' WHERE {WHERE}")
    code, _, err = verify()
    assert code == 2
    assert "the table has events of captured, other" in err
