"""A complete folder of evidence, written by hand: exit code and report."""

from __future__ import annotations

import base64
import json

import pytest

from judge.verdict.judgement import judge
from judge.verdict.report import show
from support.judge.callbacks import callback_lines
from support.judge.records import generation, group_key

BEGAN = 1_795_531_000_000


def b64(value):
    return base64.b64encode(value).decode()


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def folder(tmp_path):
    """Two members; b joins at 10 s, and t-1 stalls for 2 s. ``reported`` writes an observer's bounds."""
    kind = {
        "kind": "a client",
        "type": "classic",
        "commit_ms": 1000,
        "session_ms": 6000,
        "static": False,
    }
    (tmp_path / "run.json").write_text(json.dumps({"seed": 1, "began": BEGAN, "groups": {"g": kind}}))
    (tmp_path / "topics.json").write_text("{}")
    (tmp_path / "members").mkdir()
    acts = [{"at": BEGAN + 500, "do": "start", "group": "g", "member": "a", "process": "a.1"}]
    acts += [{"at": BEGAN + 9_000, "do": "start", "group": "g", "member": "b", "process": "b.1"}]
    lines(tmp_path / "acts.ndjson", acts)
    for name, calls in {
        "a": [(1_100, "assigned", 0, 1), (9_500, "revoked", 0, 1), (11_490, "assigned", 0)],
        "b": [(11_500, "assigned", 1)],
    }.items():
        rows = [(BEGAN + at, what, *(f"t-{number}" for number in numbers)) for at, what, *numbers in calls]
        lines(tmp_path / "members" / f"g~{name}.1.ndjson", callback_lines(rows))
    records = [(1_000, generation(1, a=[0, 1])), (11_490, generation(2, a=[0], b=[1]))]
    key = b64(group_key("g"))
    rows = [
        {"partition": 0, "offset": offset, "timestamp": BEGAN + at, "key": key, "value": b64(value)}
        for offset, (at, value) in enumerate(records)
    ]
    lines(tmp_path / "records.ndjson", rows)

    def reported(lower, upper, numbers=(1, 2)):
        times = {1: 1_000, 2: 11_490, 7: 12_000}
        bounds = {1: (0.0, 0.1), 2: (lower, upper), 7: (0.0, 0.1)}
        rows = []
        for number in numbers:
            low, high = bounds[number]
            event = {"kind": "generation", "event_id": f"e{number}", "group": "g", "generation": number,
                     "timestamp_ms": BEGAN + times[number], "closes_episode": True, "members": [{}],
                     "stall": {"basis": "bound", "lower_seconds": low, "seconds": high}}  # fmt: skip
            row = {
                "partition": 0,
                "offset": number,
                "timestamp": 0,
                "key": None,
                "value": b64(json.dumps(event).encode()),
            }
            rows.append(row)
        for observer in ("kept", "lone"):
            lines(tmp_path / f"events-{observer}.ndjson", rows)
            (tmp_path / f"{observer}.metrics").write_text("")
        return judge(tmp_path)

    reported.path = tmp_path
    return reported


def test_correct_bounds_and_facts_end_with_0(folder):
    assert folder(1.0, 2.5) == 0
    report = json.loads((folder.path / "report.json").read_text())
    assert report["observers"]["kept"]["facts"]["reported"] == 2
    assert report["observers"]["kept"]["cases"] == []


@pytest.mark.parametrize(("lower", "upper", "wrong"), [(0.5, 1.5, "upper too low"), (2.2, 2.5, "lower too high")])
def test_a_false_bound_ends_with_1_and_its_case_has_the_reason(folder, lower, upper, wrong):
    assert folder(lower, upper) == 1
    (case,) = json.loads((folder.path / "report.json").read_text())["observers"]["kept"]["cases"]
    assert case["wrong"] == [wrong]
    assert case["real"]["most_s"] == 2.0
    assert case["longest"]["partition"] == "t-1"
    assert case["change"] == "start"
    assert any("a.1 revoked enter 2: t-0 t-1" in line for line in case["lines"])
    assert "a 1, b 1" in case["records"][-1]
    assert wrong in (folder.path / "report.md").read_text()


def test_one_case_is_printed_with_its_context(folder, capsys):
    folder(0.5, 1.5)
    capsys.readouterr()
    show(folder.path, "g:2")
    said = capsys.readouterr().out
    assert "wrong: ['upper too low']" in said
    assert "    -1.990 a.1 revoked enter 2: t-0 t-1" in said
    show(folder.path, "g:9")
    assert capsys.readouterr().out == ""


def test_evidence_that_contradicts_itself_ends_with_1(folder):
    read = {"at": BEGAN + 11_000, "what": "read", "first": {"t-1": BEGAN + 10_900}, "last": {"t-1": BEGAN + 10_900}}
    with (folder.path / "members" / "g~a.1.ndjson").open("a") as file:
        file.write(json.dumps(read) + "\n")
    assert folder(1.0, 2.5) == 1


def test_a_missing_and_an_invented_fact_end_with_1(folder):
    assert folder(1.0, 2.5, numbers=(1,)) == 1
    assert folder(1.0, 2.5, numbers=(1, 2, 7)) == 1
