"""`rebalance-agent verify` with files: its output and its exit codes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from rebalance_agent.audit.audit_report import AuditReport, Difference
from rebalance_agent.cli import verify_reports
from rebalance_agent.cli.commands import verify as verify_command
from rebalance_agent.cli.main import main
from rebalance_agent.extras import install_text

GOLDEN = Path(__file__).parents[2] / "golden"
EVENTS = (GOLDEN / "captured_topic_events.ndjson").read_text(encoding="utf-8").splitlines()
LEFT_OUT = [EVENTS[0], *EVENTS[2:]]
RECORDS = (GOLDEN / "captured_topic.ndjson").read_text(encoding="utf-8").splitlines()[1:]


@pytest.fixture
def verify(tmp_path, capsys):
    def run(*flags, events=EVENTS, records=RECORDS):
        reported, posted = tmp_path / "events.ndjson", tmp_path / "records.ndjson.gz"
        reported.write_text("\n".join(events) + "\n", encoding="utf-8")
        posted.write_bytes(gzip.compress(("\n".join(records) + "\n").encode()))
        code = main(["verify", "--records", str(posted), "--events", str(reported), *flags])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_captured_topic_and_its_events_agree(verify):
    code, out, err = verify()
    assert (code, err) == (0, "")
    assert out == (
        "no difference; 24 facts of 4 groups were published correctly and exactly once; "
        "not checked: 2 without a known predecessor\n"
    )


def test_a_difference_is_a_line_and_exit_code_1(verify):
    code, out, _ = verify(events=LEFT_OUT)
    assert code == 1
    first, *_, last = out.splitlines()
    assert first.startswith("'eager' 2: generation 2 has no event (")
    assert last.startswith("1 difference; 23 facts of 4 groups")


def test_control_characters_in_names_are_not_printed(verify):
    """Events may contain text from any client."""
    evil = "\x1b[2J\u202e\n'eager' 2: forged"
    event = json.loads(EVENTS[1])
    wrong = ({**event, "assignor": evil}, {**event, "group": evil})
    code, out, err = verify(events=[EVENTS[0], *map(json.dumps, wrong), *EVENTS[2:]])
    assert (code, err) == (1, "")
    lines = out.removesuffix("\n").split("\n")
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("'eager' 2: forged") for line in lines)
    assert sum("[2J" in line for line in lines) == len(wrong)


def test_a_single_group_is_verified(verify):
    code, out, _ = verify("--groups", "coop.*", events=LEFT_OUT)
    assert (code, out) == (0, "no difference; 5 facts of 1 groups were published correctly and exactly once\n")


def test_unknown_groups_are_an_error(verify):
    code, out, err = verify("--groups", "copo.*")
    assert (code, out) == (2, "")
    assert err == "rebalance-agent verify: --groups: no record and no event belongs to a group that matches 'copo.*'\n"


@pytest.fixture
def cluster(monkeypatch, capsys):
    """Run `verify` on a cluster with an empty offsets topic, and this many records of other clusters in its events
    topic."""

    def run(*flags, unread=0):
        read = SimpleNamespace(
            cluster_id="c", unread=unread, names=dict, events=lambda _topic, _tell: 0, post=lambda *_ledgers: None
        )
        monkeypatch.setattr(verify_reports, "VerifiedCluster", lambda _properties, _clock: read)
        code = main(["verify", "--bootstrap-servers", "localhost:1", *flags])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_cluster_without_facts_is_an_error(verify, cluster):
    start = "rebalance-agent verify: nothing to compare: no record or event belongs to a group that `observe` shows"
    code, out, err = verify(events=[], records=[])
    assert (code, out) == (2, "")
    assert err == f"{start}. Check the files. If there are no groups yet, use --allow-empty\n"
    code, out, err = cluster("--json")
    assert (code, out) == (2, "")
    assert err.startswith(f"{start}. Check the cluster, the events' topic and the permissions.")


def test_a_topic_without_any_event_is_an_error(verify, cluster):
    """This happens with the wrong topic."""
    code, out, err = cluster(unread=7)
    assert (code, out) == (2, "")
    assert "; there are 7 records of the events' topic that are not events. " in err
    assert cluster("--groups", "orders", unread=7)[0] == 2
    broken = '{"key": "AAIAAWc=", "value": "AGM=", "timestamp": 1}'
    code, _, err = verify(events=[], records=[broken])
    assert (code, "; there are 1 records that cannot be read. " in err) == (2, True)


def test_an_empty_cluster_can_be_allowed(verify, cluster):
    reported = "no difference; 0 facts of 0 groups were published correctly and exactly once"
    assert verify("--allow-empty", events=[], records=[]) == (0, f"{reported}\n", "")
    assert cluster("--allow-empty", unread=7)[1].startswith(f"{reported}; not checked: 7 ")
    assert verify("--allow-empty", events=LEFT_OUT)[0] == 1


@pytest.mark.parametrize("left", [{"events": []}, {"records": []}])
def test_records_alone_or_events_alone_are_judged(verify, left):
    assert verify(**left)[0] == 1


def test_since_omits_older_records_and_events(verify):
    at_ms = json.loads(EVENTS[1])["timestamp_ms"]
    assert verify("--since", str(at_ms + 1), events=LEFT_OUT)[0] == 0
    assert verify("--since", str(at_ms), events=LEFT_OUT)[0] == 1
    assert verify("--since", "2050-01-01T00:00:00Z", events=EVENTS[:1])[0] == 0


def test_verify_prints_json(verify):
    code, out, _ = verify("--json", events=LEFT_OUT)
    found = json.loads(out)
    assert (code, found["clean"], found["found"], found["agreed"]) == (1, False, 1, 23)
    assert found["differences"][0]["group"] == "eager"


def test_yaml_has_the_content_of_json(verify):
    assert yaml.safe_load(verify("--output", "yaml", events=LEFT_OUT)[1]) == json.loads(
        verify("--json", events=LEFT_OUT)[1]
    )


def test_csv_has_a_line_for_each_difference_and_the_summary_on_stderr(verify):
    code, out, err = verify("--output", "csv", events=LEFT_OUT)
    (difference,) = json.loads(verify("--json", events=LEFT_OUT)[1])["differences"]
    places = " ".join(difference["places"])
    assert (code, list(csv.DictReader(io.StringIO(out)))) == (
        1,
        [{"group": "eager", "generation": "2", "what": difference["what"], "places": places, "table": ""}],
    )
    assert err.startswith("1 difference; 23 facts of 4 groups")
    code, out, err = verify("--output", "csv")
    assert (code, out) == (0, "group,generation,what,places,table\n")
    assert err.startswith("no difference; 24 facts of 4 groups")


def test_csv_of_tables_names_the_table_of_each_difference_by_group_and_generation(monkeypatch, capsys):
    reports = {"events": AuditReport(), "generations": AuditReport()}
    reports["events"].differ(Difference("orders", 10, "b"), Difference("orders", 9, "a"), Difference("=1+1", 3, "c"))
    reports["generations"].differ(Difference("orders", 9, "d"))
    monkeypatch.setattr(verify_command, "verified", lambda _options: reports)
    assert main(["verify", "--records", "r", "--tables", "t", "--output", "csv"]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[1:] == [
        "'=1+1,3,c,,events",
        "orders,9,a,,events",
        "orders,10,b,,events",
        "orders,9,d,,generations",
    ]
    assert [line.split(";")[0] for line in err.splitlines()] == [
        "table events: 3 differences",
        "table generations: 1 difference",
    ]


@pytest.mark.parametrize(
    ("flags", "reported"),
    [
        (["--bootstrap-servers", "localhost:1"], "--records: replaces a cluster"),
        (["--tables", "tables"], "--tables: replaces --events and --events-topic"),
        (["--spark", "spark.ui.enabled=true"], "--spark: needs --tables"),
        (["--lifetime", "absent.txt", "absent.ndjson"], "--lifetime: absent.txt: No such file or directory"),
    ],
)
def test_wrong_flags_are_reported_with_exit_code_2(verify, flags, reported):
    code, out, err = verify(*flags)
    assert (code, out) == (2, "")
    assert err.startswith(f"rebalance-agent verify: {reported}")


def test_an_invalid_line_of_events_or_records_is_named(verify):
    assert "events.ndjson, line 25: is not JSON" in verify(events=[*EVENTS, "{"])[2]
    assert "records.ndjson.gz, line 88: not JSON" in verify(records=[*RECORDS, "nonsense"])[2]
    code, _, err = verify(records=[*RECORDS, '{"key": "AAI=", "value": null}'])
    assert code == 2
    assert "timestamp: is missing" in err


def test_events_of_two_clusters_are_refused(verify):
    other = EVENTS[0].replace('"cluster_id":"captured"', '"cluster_id":"other"')
    assert "--events: come from more than one cluster: captured, other" in verify(events=[*EVENTS, other])[2]


def test_counters_of_a_lifetime_are_compared(verify, tmp_path):
    published = tmp_path / "published.ndjson"
    published.write_text("\n".join(EVENTS), encoding="utf-8")
    metrics = tmp_path / "metrics.txt"
    counted = sum(json.loads(line).get("moved", 0) * json.loads(line).get("closes_episode", 0) for line in EVENTS)
    groups = {json.loads(line)["group"] for line in EVENTS}
    assert counted > 0
    line = 'kafka_rebalance_partitions_moved_total{{consumergroup="{}"}} {}\n'
    metrics.write_text("".join(line.format(group, 1_000) for group in sorted(groups)), encoding="utf-8")
    code, out, _ = verify("--lifetime", str(metrics), str(published))
    assert code == 1
    assert "moved is 1000, but " in out
    one = min(groups)
    out = json.loads(verify("--json", "--groups", re.escape(one), "--lifetime", str(metrics), str(published))[1])
    assert {each["group"] for each in out["differences"]} == {one}
    metrics.write_text('rebalance_agent_last_poll_timestamp_seconds{poll="list"} 1700000000\n', encoding="utf-8")
    assert verify("--lifetime", str(metrics), str(published))[0] == 0


def test_tables_without_the_pipelines_packages_are_an_error_with_the_install_command(tmp_path):
    (tmp_path / "records.ndjson").write_text("", encoding="utf-8")
    without = "import sys; sys.modules['pyspark'] = None; from rebalance_agent.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", without, "verify", "--records", "records.ndjson", "--tables", "tables"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    reported = f"needs the package 'pyspark'; run {install_text('pipeline')}"
    assert (done.returncode, done.stderr) == (2, f"rebalance-agent verify: --tables: {reported}\n")


@pytest.mark.parametrize("text", ["", "up 1\n", "<!doctype html>\n"])
def test_a_file_that_is_no_observers_scrape_is_refused(verify, tmp_path, text):
    """Otherwise nothing would be compared, and no difference found."""
    published, metrics = tmp_path / "published.ndjson", tmp_path / "metrics.txt"
    published.write_text("", encoding="utf-8")
    metrics.write_text(text, encoding="utf-8")
    code, out, err = verify("--lifetime", str(metrics), str(published))
    assert (code, out) == (2, "")
    assert err.startswith(f"rebalance-agent verify: --lifetime: {metrics} ")


@pytest.mark.parametrize("flags", [("--grace-seconds", "nan"), ("--grace-seconds", "inf"), ("--grace-seconds", "-1")])
def test_invalid_seconds_are_refused(verify, flags):
    with pytest.raises(SystemExit) as ended:
        verify(*flags)
    assert ended.value.code == 2


def test_an_invalid_pattern_is_refused(verify):
    code, _, err = verify("--groups", "team-(")
    assert code == 2
    assert err.startswith("rebalance-agent verify: --groups: is not a regular expression: ")


def test_an_event_of_polls_is_a_difference_and_does_not_date_the_first_record(verify):
    left_out, kept = json.loads(EVENTS[0]), EVENTS[1:]
    polled = {**left_out, "source": "admin", "event_id": "0" * 32, "timestamp_ms": left_out["timestamp_ms"] - 1}
    code, out, _ = verify(events=[json.dumps(polled), *kept])
    assert (code, "older than the compared events" in out, out.count("comes from polls")) == (1, True, 1)


def test_a_file_with_only_deletions_determines_the_cluster(verify):
    """The first fact determines the cluster, whatever its kind."""
    gone = next(line for line in EVENTS if json.loads(line)["kind"] == "group_gone")
    assert "1 facts of 1 groups were published correctly and exactly once" in verify(events=[gone])[1]


def test_records_that_are_out_of_order_are_refused(verify):
    numbered = [json.dumps({**json.loads(line), "offset": number}) for number, line in enumerate(RECORDS)]
    assert verify(records=numbered)[0] == 0
    code, _, err = verify(records=[*numbered, numbered[3]])
    assert code == 2
    assert "records.ndjson.gz, line 88: offset: 3 of partition 0 comes after 86" in err
