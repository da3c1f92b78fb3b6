"""``rebalance-agent assign``: the format that other programs rely on."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields

import pytest

from rebalance_agent.cli.inputs import assign_io
from rebalance_agent.cli.main import main
from rebalance_agent.cli.screens.assign_text import MEANINGS
from rebalance_agent.groupprotocol.user_data import WEIGHT_SETTING, encode_weighted
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.subscription import MemberUserData

WEIGHT = "assignment.consumer.weight"
GROUP = {
    "topics": {"t": {"partitions": 5}, "u": {"partitions": 1, "loads": [2.5], "racks": [["r1"]]}},
    "members": [{"id": "m1", "topics": ["t"]}, {"id": "m2", "topics": ["t", "nowhere"], "rack": "r1"}],
}
QUALITY = {
    "spread",
    "max_mean_ratio",
    "skew_ratio",
    "imbalance",
    "moved",
    "moved_min",
    "unassigned",
    "topic_spread",
    "copartition_breaks",
    "rack_misses",
    "missing_standbys",
}


@pytest.fixture
def assign(tmp_path, monkeypatch, capsys):
    """Run the command on a group (or raw text) and return exit code, standard output and standard error."""

    def run(data, *arguments, stdin=False):
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        path = tmp_path / "group.json"
        path.write_bytes(raw)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
        try:
            code = main(["assign", *arguments, "-" if stdin else str(path)])
        except SystemExit as error:
            code = error.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def result_of(outcome):
    code, out, err = outcome
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    return json.loads(out)


def member(**fields):
    return {"topics": GROUP["topics"], "members": [{"id": "m1", "topics": ["t"]} | fields]}


@pytest.mark.parametrize("stdin", [False, True])
def test_assignment_and_quality_are_printed(assign, stdin):
    result = result_of(assign(GROUP, "--strategy", "range", stdin=stdin))
    assert result.keys() == {"assignment", "unknown_topics", "quality"}
    assert result["assignment"] == {"m1": {"t": [0, 1, 2]}, "m2": {"t": [3, 4]}}
    assert result["unknown_topics"] == ["nowhere"]
    assert result["quality"].keys() == QUALITY
    assert result["quality"]["topic_spread"] == {"t": 1.0}
    assert result["quality"]["copartition_breaks"] is None


def test_the_table_explains_each_value_of_the_quality(assign):
    assert MEANINGS.keys() == {each.name for each in fields(AssignmentQuality)}
    lines = [
        " ".join(line.split()) for line in assign(GROUP, "--strategy", "range", "--output", "table")[1].splitlines()
    ]
    assert "QUALITY VALUE MEANING" in lines
    assert "imbalance 0 most partitions that a member has above its target; 0 is best" in lines
    assert "topic_spread.t 1.00 number of the topic's owners divided by the possible number; 1 is best" in lines
    assert not any(line.startswith("rack_misses") for line in lines)


def test_output_is_sorted_and_the_same_every_time(assign):
    text = assign(GROUP, "--strategy", "roundrobin")[1]
    assert text == json.dumps(json.loads(text), sort_keys=True) + "\n"
    turned = {"members": GROUP["members"][::-1], "topics": dict(reversed(GROUP["topics"].items()))}
    assert assign(turned, "--strategy", "roundrobin")[1] == text


def test_user_data_overrides_the_members_config_which_overrides_the_groups(assign):
    data = {
        "topics": {"t": {"partitions": 60}},
        "members": [
            {"id": "flag", "topics": ["t"]},
            {"id": "own", "topics": ["t"], "config": {WEIGHT: 2}},
            {
                "id": "reported",
                "topics": ["t"],
                "config": {WEIGHT: "9"},
                "user_data": base64.b64encode(encode_weighted(MemberUserData({WEIGHT_SETTING: 3}))).decode(),
            },
        ],
    }
    result = result_of(assign(data, "--strategy", "weighted-sticky", "--config", f"{WEIGHT}=1"))
    assert {name: len(topics["t"]) for name, topics in result["assignment"].items()} == {
        "flag": 10,
        "own": 20,
        "reported": 30,
    }


@pytest.mark.parametrize("owned", [{"t": [4]}, {"t": []}, {}])
def test_owned_partitions_override_those_of_user_data(assign, owned):
    reported = base64.b64encode(encode_weighted(MemberUserData({WEIGHT_SETTING: 1}, {"t": (0, 1)}))).decode()
    data = {
        "topics": {"t": {"partitions": 5}},
        "members": [
            {"id": "m1", "topics": ["t"], "owned": owned, "user_data": reported},
            {"id": "m2", "topics": ["t"]},
        ],
    }
    result = result_of(assign(data, "--strategy", "cooperative-weighted-sticky"))
    assert result["revoking"] == {}
    if owned.get("t"):
        assert 4 in result["assignment"]["m1"]["t"]


def test_generation_decides_between_claims(assign):
    data = {
        "topics": {"t": {"partitions": 2}},
        "members": [
            {"id": "m1", "topics": ["t"], "owned": {"t": [0, 1]}, "generation": 2},
            {"id": "m2", "topics": ["t"], "owned": {"t": [0]}, "generation": 3},
        ],
    }
    result = result_of(assign(data, "--strategy", "weighted-sticky"))
    assert result["assignment"] == {"m1": {"t": [1]}, "m2": {"t": [0]}}
    assert result["quality"]["moved"] == 0


@pytest.mark.parametrize("form", [["weighted-sticky", "--protocol", "cooperative"], ["cooperative-weighted-sticky"]])
def test_the_cooperative_form_shows_what_is_revoked_first(assign, form):
    data = {
        "topics": {"t": {"partitions": 2}},
        "members": [{"id": "m1", "topics": ["t"], "owned": {"t": [0, 1]}}, {"id": "m2", "topics": ["t"]}],
    }
    result = result_of(assign(data, "--strategy", *form))
    (held,) = result["revoking"]["m1"]["t"]
    assert result["assignment"] == {"m1": {"t": [1 - held]}, "m2": {}}
    assert result["quality"]["spread"] == result["quality"]["unassigned"] == 0


def test_undecodable_user_data_is_reported_without_an_error(assign):
    result = result_of(assign(member(user_data="AAAA"), "--strategy", "failover"))
    assert result["assignment"] == {"m1": {"t": [0, 1, 2, 3, 4]}}
    assert result["user_data_errors"].keys() == {"m1"}


def test_a_members_config_may_be_for_another_strategy(assign):
    assert result_of(assign(member(config={WEIGHT: 5}), "--strategy", "range"))["assignment"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{", "not JSON: Expecting property name enclosed in double quotes at line 1 column 2"),
        (b"", "not JSON: Expecting value at line 1 column 1"),
        (b"\xff", "not UTF-8 at byte 0"),
        (b'{"topics": {}, "members": NaN}', "not JSON: NaN"),
        (b'{"topics": {}, "topics": {}}', "topics: appears twice in one object"),
        (b"[" * 100_000, "nested too deeply for a group"),
        (b"1" * 5000, "not JSON: a number has too many digits"),
        ([], "group: must be an object"),
        ({"topics": {}}, "members: is missing"),
        ({"members": []}, "topics: is missing"),
        (GROUP | {"surprise": 1}, "surprise: unknown field; the fields are config, id, members, topics"),
        (GROUP | {"members": {}}, "members: must be a list of members"),
        (GROUP | {"id": [1]}, "id: must be text or a number"),
        ({"topics": [], "members": []}, "topics: must be an object"),
        ({"topics": {"": {"partitions": 1}}, "members": []}, "topics: must not be empty"),
        ({"topics": {"t": {}}, "members": []}, "topics.t.partitions: is missing"),
        ({"topics": {"a\nb": {}}, "members": []}, "topics.'a\\nb'.partitions: is missing"),
        (member(owned={"\ud800\n": 1}), "members[0].owned.'\\\\ud800\\n': must be a list"),
        ({"topics": {"t": {"partitions": "5"}}, "members": []}, "topics.t.partitions: must be a whole number from 0"),
        ({"topics": {"t": {"partitions": True}}, "members": []}, "topics.t.partitions: must be a whole number from 0"),
        ({"topics": {"t": {"partitions": -1}}, "members": []}, "topics.t.partitions: must be a whole number from 0"),
        (
            {"topics": {"t": {"partitions": 2, "racks": [["a"]]}}, "members": []},
            "topics.t.racks: must have one entry for each of 2 partitions, has 1",
        ),
        (
            {"topics": {"t": {"partitions": 1, "racks": [[1]]}}, "members": []},
            "topics.t.racks[0]: must be a list of rack names",
        ),
        (
            {"topics": {"t": {"partitions": 1, "loads": [-1]}}, "members": []},
            "topics.t.loads[0]: must be a number of at least 0",
        ),
        (
            {"topics": {f"t{n}": {"partitions": 1_000_000} for n in range(3)}, "members": []},
            "topics.t2: the group has more than 2000000 partitions",
        ),
        ({"topics": {}, "members": [{"id": "a"}]}, "members[0].topics: is missing"),
        ({"topics": {}, "members": ["a"]}, "members[0]: must be an object"),
        (member(topics="t"), "members[0].topics: must be a list of topic names"),
        (member(topics=["t", 5]), "members[0].topics: must be a list of topic names"),
        (member(topics=None), "members[0].topics: must be a list of topic names"),
        (member(id=7), "members[0].id: must be text"),
        (member(id=""), "members[0].id: must not be empty"),
        (member(id="x" * 40_000), "members[0].id: longer than 32767 characters"),
        (member(onwed={}), "members[0].onwed: unknown field"),
        (member(owned=[0]), "members[0].owned: must be an object"),
        (member(owned={"t": 0}), "members[0].owned.t: must be a list of partition numbers"),
        (member(owned={"t": [0, -1]}), "members[0].owned.t[1]: must be a whole number from 0"),
        (member(generation=1.5), "members[0].generation: must be a whole number from -1"),
        (member(rack=1), "members[0].rack: must be text"),
        (member(user_data="no base64!"), "members[0].user_data: must be base64"),
        (member(config={"x.y": 1}), "members[0].config.x.y: unknown setting; the settings are assignment.consumer."),
        (member(config={WEIGHT: 0}), f"members[0].config.{WEIGHT}: must be a whole number from 1 to 2147483647"),
        (member(config={WEIGHT: 1.0}), f"members[0].config.{WEIGHT}: must be a whole number"),
        (member(config={WEIGHT: [1]}), f"members[0].config.{WEIGHT}: must be a whole number"),
        (GROUP | {"members": [GROUP["members"][0]] * 2}, "members[1].id: m1 appears twice"),
    ],
)
def test_wrong_input_is_one_line_that_names_the_field(assign, data, problem):
    code, out, err = assign(data, "--strategy", "range")
    assert (code, out) == (2, "")
    assert err.startswith(f"rebalance-agent assign: {problem}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--strategy", "nope"], "there is no strategy 'nope'; the strategies are cooperative-copartitioned-sticky,"),
        (["--strategy", "range", "--protocol", "cooperative"], "--protocol: range has no cooperative form"),
        (
            ["--strategy", "cooperative-failover", "--protocol", "eager"],
            "--protocol: cooperative-failover has no eager form",
        ),
        (["--strategy", "range", "--config", f"{WEIGHT}=1"], f"--config: range has no setting '{WEIGHT}'; it has none"),
        (["--strategy", "failover", "--config", "a=1"], "--config: failover has no setting 'a'; it has assignment.con"),
        (["--strategy", "failover", "--config", "a"], "--config: 'a' is not KEY=VALUE"),
        (["--strategy", "weighted-sticky", "--config", f"{WEIGHT}=x"], f"--config {WEIGHT}: must be a whole number"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(assign, arguments, problem):
    code, out, err = assign(GROUP, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"rebalance-agent assign: {problem}")
    assert err.count("\n") == 1


def test_a_file_that_cannot_be_read_is_named(capsys):
    assert main(["assign", "--strategy", "range", "/nowhere/group.json"]) == 2
    assert capsys.readouterr().err == "rebalance-agent assign: /nowhere/group.json: No such file or directory\n"


def test_more_members_than_any_group_has_are_refused(assign, monkeypatch):
    monkeypatch.setattr(assign_io, "MEMBERS_MAX", 1)
    code, _, err = assign(GROUP, "--strategy", "range")
    assert (code, err) == (2, "rebalance-agent assign: members: more than 1\n")


def test_lines_are_answered_in_order_also_after_bad_ones(assign):
    lines = [
        json.dumps(GROUP | {"id": "first"}),
        "{",
        "",
        json.dumps({"id": 7, "topics": {}}),
        json.dumps({"id": {"x": 1}, "topics": {}, "members": []}),
        json.dumps(GROUP),
    ]
    code, out, err = assign("\n".join(lines).encode(), "--strategy", "range", "--ndjson")
    assert (code, err) == (1, "")
    first, broken, empty, incomplete, odd, last = map(json.loads, out.splitlines())
    assert first["id"] == "first"
    assert first["assignment"] == last["assignment"]
    assert "id" not in last
    assert broken.keys() == empty.keys() == {"error"}
    assert incomplete == {"id": 7, "error": "members: is missing"}
    assert odd == {"error": "id: must be text or a number"}


def test_good_lines_exit_0(assign):
    code, out, _ = assign((json.dumps(GROUP) + "\n").encode() * 3, "--strategy", "range", "--ndjson", stdin=True)
    assert code == 0
    assert len(out.splitlines()) == 3
    assert assign(b"", "--strategy", "range", "--ndjson") == (0, "", "")


def test_a_line_that_is_too_long_is_a_bad_line(assign, monkeypatch):
    for module in ("commands.assign", "inputs.json_fields"):
        monkeypatch.setattr(f"rebalance_agent.cli.{module}.INPUT_BYTES_MAX", 300)
    lines = [json.dumps(GROUP), " " * 1000, json.dumps(GROUP)]
    code, out, _ = assign("\n".join(lines).encode(), "--strategy", "range", "--ndjson")
    assert code == 1
    assert ["error" in json.loads(line) for line in out.splitlines()] == [False, True, False]


def test_help_lists_strategies_and_the_page_of_their_settings(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["assign", "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "cooperative-weighted-sticky" in text
    assert "`rebalance-agent strategies`" in text


def test_an_answer_is_flushed_before_the_next_input():
    with _process() as process:
        for _ in range(2):
            process.stdin.write(json.dumps(GROUP).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["assignment"]
        process.stdin.close()
        assert process.wait(30) == 0


def test_a_closed_output_pipe_ends_assign_without_an_error():
    with _process() as process:
        process.stdout.close()
        try:
            process.stdin.write((json.dumps(GROUP).encode() + b"\n") * 2000)
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert process.wait(30) == 0
        assert process.stderr.read() == b""


def test_ctrl_c_prints_no_traceback():
    with _process() as process:
        process.stdin.write(json.dumps(GROUP).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        for _ in range(6):  # a signal between Python's last check and a blocking read is handled only after the read
            os.kill(process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
                break
        assert process.poll() == 130
        assert process.stderr.read() == b""


def _process():
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", "rebalance_agent.cli.main", "assign", "--strategy", "range", "--ndjson", "-"],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    )
