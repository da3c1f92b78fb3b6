"""The command finds its stages, loads Spark only if a stage needs it, and reports errors."""

from __future__ import annotations

import argparse
import datetime as dt
import subprocess
import sys

import pytest

from rebalance_agent.cli.commands.pipeline import STAGES
from rebalance_agent.cli.inputs.pipeline_flags import ProgressLines
from rebalance_agent.cli.main import main
from rebalance_agent.cli.pipeline import maintain
from rebalance_agent.cli.pipeline.backfill import facts_in, print_gaps, print_ranges
from rebalance_agent.cli.pipeline.check_results import add_check_flags, check_code, print_broken
from rebalance_agent.cli.pipeline.weekly_files import weekly_files
from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.ingest.backfill import Gaps, PartitionRange
from rebalance_agent.pipeline.weekly.week_settings import WeekSettings
from rebalance_agent.pipeline.weekly.weekly_summary import summarize
from support.pipeline.weeks import sample


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_explains_itself(stage, capsys):
    with pytest.raises(SystemExit) as done:
        main(["pipeline", stage, "--help"])
    assert done.value.code == 0
    out = capsys.readouterr().out
    assert f"rebalance-agent pipeline {stage}" in out
    assert "exit codes" in out


def test_the_command_lists_its_stages_without_loading_spark():
    code = (
        "import sys\nfrom rebalance_agent.cli.main import main\n"
        "try:\n    main(['pipeline', '--help'])\nfinally:\n    assert 'pyspark' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(stage in done.stdout for stage in STAGES)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "the following arguments are required: STAGE"),
        (["ingst"], "there is no stage 'ingst'; did you mean ingest?"),
        (["ingest"], "the following arguments are required: --tables"),
        (["ingest", "--tables", "t", "--every", "-1"], "must be a number of seconds"),
        (["ingest", "--tables", "t", "--records", "0"], "must be a whole number"),
        (["maintain", "--tables", "t", "--keep-days", "x"], "must be a whole number"),
        (["run", "--tables", "t", "--evnts", "x"], "--events"),
        (["whatif", "--tables", "t", "--partitions", "0"], "must be a whole number from 1"),
        (["whatif", "--tables", "t", "--partitions", "-2"], "must be a whole number from 1"),
        (["whatif", "--tables", "t", "--driver-memory", "plenty"], "must be a size such as 512m or 4g"),
        (
            ["report", "--tables", "t", "--weekly", "--out", "w", "--until", "yesterday"],
            "must be a day such as 2026-06-14",
        ),
        (["report", "--tables", "t", "--weekly", "--out", "w", "--until", "0001-01-01"], "must be a day such as"),
        (["report", "--tables", "t", "--weekly", "--out", "w", "--slo", "99.5"], "must be a share from 0 to 0.999999"),
        (["report", "--tables", "t", "--weekly"], "the following arguments are required: --out"),
        (["whatif", "--tables", "t", "--driver-memory", "2"], "must be a size such as 512m or 4g"),
    ],
)
def test_wrong_usage_ends_with_2_and_the_reason(arguments, words, capsys):
    with pytest.raises(SystemExit) as refused:
        main(["pipeline", *arguments])
    assert refused.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--out", "r.html", "--team-rule", "(a)"], "--team-rule: needs --weekly"),
        (["--out", "r.html", "--until", "2026-06-14"], "--until: needs --weekly"),
        (["--out", "r.html", "--slo", "0"], "--slo: needs --weekly"),
        (["--out", "w", "--weekly", "--details", "3"], "--details: cannot be combined with --weekly"),
        (["--out", "weekly.html", "--weekly"], "--out: must be a folder with --weekly"),
        (["--out", "w", "--weekly", "--team-rule", "(a"], "--team-rule: is not a regular expression: missing )"),
        (["--out", "w", "--weekly", "--team-rule", "a"], "--team-rule: must have one capture group"),
        (["--out", "w", "--weekly", "--member-cost", "12"], "--member-cost: must be an amount an hour and a currency"),
    ],
)
def test_flags_of_a_report_that_do_not_fit_end_with_2_before_spark_starts(flags, words, capsys):
    assert main(["pipeline", "report", "--tables", "t", *flags]) == 2
    assert words in capsys.readouterr().err


def test_a_week_is_a_page_a_text_and_a_csv_file_for_each_table():
    files = weekly_files(summarize(sample(), WeekSettings()))
    assert [*files] == [
        *("weekly-all.csv", "weekly-groups.csv", "weekly-movers.csv", "weekly-deploys.csv", "weekly-flapping.csv"),
        *("weekly-idle.csv", "weekly-limits.csv", "weekly-advice.csv", "weekly.txt", "weekly.html"),
    ]
    head, first, *_ = files["weekly-idle.csv"].decode().splitlines()
    assert head.startswith("cluster_id,group,idle_member_hours,member_hours,")
    assert first == "c,checkout-enricher,168.0,504.0,100.0,504.0,,"


@pytest.mark.parametrize("stage", ["ingest", "backfill"])
def test_a_missing_cluster_ends_with_2_before_spark_starts(stage, capsys, monkeypatch):
    for name in ("REBALANCE_AGENT_KAFKA__BOOTSTRAP_SERVERS", "REBALANCE_AGENT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    assert main(["pipeline", stage, "--tables", "t"]) == 2
    assert "--bootstrap-servers: is missing" in capsys.readouterr().err


def test_control_characters_in_examples_of_rejected_rows_are_not_printed(capsys):
    reported = {"table": "events", "expectation": "is so", "checked": 3, "failed": 1, "severity": "error"}
    assert (
        print_broken([{**reported, "example": '{"group":"\x9b2J\u202e"}'}, {**reported, "failed": 0, "example": None}])
        == 1
    )
    error = capsys.readouterr().err
    assert error == 'error: events: is so: not true for 1 of 3, for example {"group":"\\x9b2J\\u202e"}\n'


def checked(*flags):
    parser = argparse.ArgumentParser()
    add_check_flags(parser)
    return parser.parse_args(flags)


def test_broken_expectations_end_a_stage_with_1_unless_it_keeps_going():
    assert [check_code(failed, checked()) for failed in (0, 1, 2)] == [0, 1, 1]
    assert check_code(2, checked("--keep-going")) == 0
    assert check_code(2, checked("--keep-going", "--no-keep-going")) == 1


def test_the_summary_of_a_backfill_prints_no_control_characters_and_accepts_any_time(capsys):
    progress = ProgressLines("backfill", every_s=0)
    print_ranges([PartitionRange(0, 2, None, None, -(2**62), 0), PartitionRange(1, 1, 5, 5, 1000, 2**62)], progress)
    print_gaps([Gaps("\x1b[2J", 4, 3)], progress)
    assert capsys.readouterr().err.splitlines() == [
        f"backfill: partition 0: 2 records, {-(2**62)} ms to 1970-01-01T00:00:00Z",
        f"backfill: partition 1: 1 records, offsets 5 to 5, 1970-01-01T00:00:01Z to {2**62} ms",
        r"backfill: group \x1b[2J: 3 generations are missing between the 4 that are present",
    ]


@pytest.mark.parametrize("flags", [("run",), ("ingest",)])
def test_events_that_do_not_exist_are_refused_before_spark_starts(flags, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("rebalance_agent.cli.inputs.pipeline_flags.open_session", None)
    absent = str(tmp_path / "nosuch")
    assert main(["pipeline", *flags, "--events", absent, "--tables", str(tmp_path / "tables")]) == 2
    assert f"--events there is no {absent}" in capsys.readouterr().err.replace(":", "")


def test_a_login_that_spark_cannot_use_is_refused_before_spark_starts(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("rebalance_agent.cli.inputs.pipeline_flags.open_session", None)
    login = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER",
             "enable.sasl.oauthbearer.unsecure.jwt": "true"}  # fmt: skip
    flags = [word for name, value in login.items() for word in ("--kafka", f"{name}={value}")]
    assert main(["pipeline", "ingest", "--tables", str(tmp_path / "tables"), *flags]) == 2
    assert "Spark's Java client only supports oidc, aws-msk-iam, azure, gcp" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "paths"), [([], "spark.jar"), (["--login", "aws-msk-iam"], "spark.jar,aws-msk-iam.jar")]
)
def test_jars_are_those_of_spark_and_of_the_login(flags, paths, capsys, monkeypatch):
    found = lambda login: [f"{name}.jar" for name in ("spark", login) if name]  # noqa: E731
    monkeypatch.setattr("rebalance_agent.cli.pipeline.jars.spark_jars", found)
    assert main(["pipeline", "jars", *flags]) == 0
    assert capsys.readouterr().out == f"{paths}\n"


class _Kept:
    """Tables that delete one row each, and note the days to keep."""

    def __init__(self):
        self.days = {}

    def keep_days(self, name, column, first, last):
        self.days[name] = (first, last)
        return 1


def test_keep_days_also_ends_the_days_at_the_latest_that_ingest_accepts(monkeypatch):
    monkeypatch.setattr(maintain, "SystemClock", lambda: FakeClock(1_700_000_000_000))  # 2023-11-14
    kept = _Kept()
    assert maintain._expire(kept, 10) == len(maintain.DATED)
    assert kept.days == dict.fromkeys(maintain.DATED, (dt.date(2023, 11, 4), dt.date(2023, 11, 15)))


def test_a_spark_property_without_a_value_is_refused(capsys):
    assert main(["pipeline", "maintain", "--tables", "t", "--spark", "spark.x"]) == 2
    assert "--spark: must be KEY=VALUE" in capsys.readouterr().err


def test_modules_of_spark_workers_import_neither_a_kafka_client_nor_delta():
    names = (
        "ingest.decoding",
        "ingest.log_rows",
        "tables.generations",
        "tables.whatif_tables",
        "recommendations.advice_rows",
        "recommendations.recommendation_rows",
    )
    modules = [f"rebalance_agent.pipeline.{name}" for name in names]
    code = (
        f"import sys\nimport {', '.join(modules)}\nprint(*{{'confluent_kafka', 'delta', 'jgo'}} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_topics_missing_in_records_are_read_from_a_file():
    facts = facts_in(b'{"topics": {"t": 4}, "ids": {"t": "OOC1q4gSQZ2yIg"}, "more": 1}', "c")
    assert (facts.cluster_id, facts.topics, facts.ids) == ("c", {"t": 4}, {"t": "OOC1q4gSQZ2yIg"})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"topics": {"t": 1e400}}', "topics.t: must be a whole number from 0 to 1000000"),
        (b'{"topics": {"t\\u001b[2J": -1}}', r"topics.'t\x1b[2J': must be"),
        (b'{"topics": {}, "ids": {"t": null}}', "ids.t: must be text"),
        (b'{"ids": {}}', "topics: is missing"),
        (b'{"topics": []}', "topics: must be an object"),
        (b"\xff", "not UTF-8"),
    ],
    ids=range(7),
)
def test_a_file_with_other_content_is_refused_with_one_line(text, what):
    with pytest.raises(InvalidInputError) as refused:
        facts_in(text, "c")
    assert what in str(refused.value)
    assert str(refused.value).isprintable()
