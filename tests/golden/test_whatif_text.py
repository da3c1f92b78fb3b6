"""The exact output of `whatif` for whole histories.

``REBALANCE_AGENT_GOLDEN=write pytest tests/golden`` writes the files.
"""

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from rebalance_agent.api.query import NotKnownError
from rebalance_agent.cli import main
from rebalance_agent.model.event_json import json_line
from rebalance_agent.runtime.sinks.split_events import event_lines
from support.tracker.histories import clustered, on_hosts

FOLDER = Path(__file__).parent / "whatif"
CAPTURED = Path(__file__).parent / "captured_topic_events.ndjson"


def lines(events):
    return b"".join(json_line(each) + b"\n" for each in events)


HISTORIES = {
    "clustered": lambda: lines(clustered(8)),
    "cooperative": lambda: lines(clustered(4, name="cooperative-sticky", topics=3)),
    "restarts": lambda: lines(clustered(10, name="sticky", topics=3, away_s=1, stops=(0.1, 0.1))),
    "hosts": lambda: lines(on_hosts(rebalances=5)),
    "cured": lambda: lines(on_hosts("shuffled-roundrobin", hosts=2, each=2, partitions=2, rebalances=5, late=1)),
    "captured": lambda: CAPTURED.read_bytes().replace(b'"group":"coordinated"', b'"group":"g"'),
}


def run(capsys, *arguments):
    try:
        code = main.main(["whatif", *map(str, arguments)])
    except SystemExit as ended:
        code = ended.code
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def quiet(monkeypatch, tmp_path):
    monkeypatch.setattr("rebalance_agent.cli.commands.whatif.quiet_logs", lambda: None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_single_rebalance_counts_for_skew_only(quiet, capsys):
    Path("events.ndjson").write_bytes(lines(clustered(1)))
    _, out, _ = run(capsys, "g", "--events", "events.ndjson")
    assert "Moves and stalls are not predicted: the first recorded rebalance counts for skew only.\n" in out


def test_an_unknown_group_of_a_file_is_reported_with_the_closest_name(quiet, capsys):
    events = [replace(clustered(1)[0], group=group) for group in ("orders", "billing", "x" * 2_000)]
    Path("events.ndjson").write_bytes(b'[]\n{"group": 1}\n' + lines(events))
    for group, meant in (("oders", "; did you mean orders?"), ("shipping-eu", ""), ("x" * 1_999, "")):
        code, out, err = run(capsys, group, "--events", "events.ndjson")
        assert (code, out) == (1, "")
        assert err == f"rebalance-agent whatif: there is no group {group!r} in events.ndjson{meant}\n"


@pytest.mark.parametrize("history", HISTORIES)
def test_the_text_equals_the_golden_file(history, quiet, capsys):
    Path("events.ndjson").write_bytes(HISTORIES[history]())
    code, out, err = run(capsys, "g", "--events", "events.ndjson")
    golden = FOLDER / f"{history}.txt"
    if os.environ.get("REBALANCE_AGENT_GOLDEN") == "write":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(out, encoding="utf-8")
    assert (code, err) == (0, "")
    assert out == golden.read_text(encoding="utf-8")


def test_control_characters_in_names_are_not_printed(quiet, capsys):
    """Members of the group choose the assignor's name."""
    group, assignor = "g\x1b[2J\u202e", "a\x1b]0;x\x07\nRecommendation: forged"
    events = [replace(each, group=group, assignor=assignor) for each in clustered(8)]
    Path("events.ndjson").write_bytes(lines(events))
    code, out, err = run(capsys, group, "--events", "events.ndjson")
    assert (code, err) == (0, "")
    assert all(line.isprintable() for line in out.split("\n"))
    assert out.count("\nRecommendation: ") == 1


def test_the_json_has_the_same_content_as_the_text(quiet, capsys):
    (quiet / "events.ndjson.gz").write_bytes(gzip.compress(lines(clustered(8))))
    code, out, _ = run(capsys, "g", "--events", quiet / "events.ndjson.gz", "--json", "--protocol", "cooperative")
    answer = json.loads(out)
    assert code == 0
    assert {each["protocol"] for each in answer["strategies"]} == {"cooperative"}
    assert answer["recommendation"]["strategy"] == "cooperative-sticky"
    assert answer["recommendation"]["sentence"].startswith("Use cooperative-sticky instead of range: ")
    assert (answer["fidelity"]["moves"], answer["fidelity"]["skew"], answer["rebalances"]) == (1.0, 1.0, 8)


def test_the_definition_of_a_host_is_an_option(quiet, capsys):
    Path("events.ndjson").write_bytes(lines(on_hosts(hosts=2)))
    shown = [
        run(capsys, "g", "--events", "events.ndjson", "--json", *flags)[1]
        for flags in ((), ("--host-names", "g=(application).*"), ("--host-names", r"g=application(\d+)"))
    ]
    assert [json.loads(each)["recorded"]["clustered_mean"] for each in shown] == [1, None, 1]
    table = run(capsys, "g", "--events", "events.ndjson", "--host-names", "g=(application).*")[1]
    assert "ONE HOST" not in table
    code, _, err = run(capsys, "g", "--events", "events.ndjson", "--host-names", "g=(")
    assert (code, err.partition(" is not")[0]) == (2, "rebalance-agent whatif: --host-names: '('")


def test_repeated_assignments_of_an_earlier_assignor_are_marked(quiet, capsys):
    first, *later = clustered(8)
    events = [first, *(replace(each, assignor="sticky") for each in later[:3]), *later[3:]]
    Path("events.ndjson").write_bytes(lines(events))
    _, out, _ = run(capsys, "g", "--events", "events.ndjson")
    text = " ".join(out.split())
    assert "4 rebalances replayed" in text
    assert "recorded assignments of sticky (before the last change of assignor)" in text
    assert "recorded assignments of range." in text
    Path("events.ndjson").write_bytes(lines(clustered(8)))
    assert "before the change" not in run(capsys, "g", "--events", "events.ndjson")[1]


def test_parts_of_an_event_are_joined(quiet, capsys):
    parts = [line for event in clustered(4) for _, line in event_lines(event, 1_500)]
    assert len(parts) > 4
    Path("parts.ndjson").write_bytes(b"\n".join(parts))
    Path("whole.ndjson").write_bytes(lines(clustered(4)))
    texts = [run(capsys, "g", "--events", name)[1] for name in ("parts.ndjson", "whole.ndjson")]
    assert texts[0].replace("parts.ndjson", "whole.ndjson") == texts[1]


def test_errors_are_reported_with_their_line(quiet, capsys):
    Path("events.ndjson").write_bytes(lines(clustered(2)) + b"nonsense\n")
    assert run(capsys, "other", "--events", "events.ndjson")[2] == (
        "rebalance-agent whatif: events.ndjson, line 3: is not JSON in UTF-8\n"
    )
    Path("events.ndjson").write_bytes(lines(clustered(2)))
    code, _, err = run(capsys, "other", "--events", "events.ndjson")
    assert (code, err) == (1, "rebalance-agent whatif: there is no group 'other' in events.ndjson\n")
    assert run(capsys, "g", "--events", "nowhere")[0] == 2
    assert run(capsys, "g", "--events", "events.ndjson", "--url", "http://x")[0] == 2
    assert "there is no strategy 'best'" in run(capsys, "g", "--events", "events.ndjson", "--strategy", "best")[2]
    wrong = ["--assignor-config", "assignment.consumer.weight=0"]
    assert "must be a whole number" in run(capsys, "g", "--events", "events.ndjson", *wrong)[2]


def test_a_truncated_or_damaged_file_is_reported(quiet, capsys):
    packed = gzip.compress(lines(clustered(8)))
    for name, data in (("cut.gz", packed[:-40]), ("damaged.gz", packed[:60] + b"\xff" * 60 + packed[120:])):
        Path(name).write_bytes(data)
        code, _, err = run(capsys, "g", "--events", name)
        assert code == 2
        assert err.startswith(f"rebalance-agent whatif: --events: {name}: ")


def test_groups_of_two_clusters_are_not_one_history(quiet, capsys):
    others = [replace(each, cluster_id="other") for each in clustered(4)]
    Path("events.ndjson").write_bytes(lines([*clustered(4), *others]))
    code, _, err = run(capsys, "g", "--events", "events.ndjson")
    assert code == 2
    assert err.endswith(
        "events.ndjson has events of g from 2 clusters, such as c and other: keep only the events of one cluster\n"
    )


def test_the_help_explains_the_table(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for word in ("SKEW", "EXCESS", "STALLED", "examples:", "exit codes:"):
        assert word in out


def test_an_agents_history_gives_the_same_result(quiet, capsys, monkeypatch):
    from support.http.api import api_of  # noqa: PLC0415
    from support.observer.views import full_view  # noqa: PLC0415

    events = [replace(each, group="orders") for each in clustered(6)]
    api, *_ = api_of(full_view("orders"), events=events)
    monkeypatch.setattr("rebalance_agent.cli.inputs.whatif_past.agent_api", lambda _options: api)
    code, out, _ = run(capsys, "orders", "--strategy", "sticky")
    assert code == 0
    assert out.startswith("orders: 6 rebalances replayed, from the agent's observations since its start.\n")
    assert run(capsys, "unknown")[0] == 1


def test_rebalances_dropped_by_the_agent_during_the_request_are_omitted(quiet, capsys, monkeypatch):
    from support.http.api import api_of  # noqa: PLC0415
    from support.observer.views import full_view  # noqa: PLC0415

    api, *_ = api_of(full_view("orders"), events=[replace(each, group="orders") for each in clustered(6)])
    oldest = api.rebalances("orders").rebalances[-1].id
    known = api.rebalance

    def forgetful(group, identity):
        if identity == oldest:
            raise NotKnownError("there is no such rebalance")
        return known(group, identity)

    monkeypatch.setattr(api, "rebalance", forgetful)
    monkeypatch.setattr("rebalance_agent.cli.inputs.whatif_past.agent_api", lambda _options: api)
    code, out, _ = run(capsys, "orders", "--strategy", "sticky")
    assert code == 0
    assert out.startswith("orders: 5 rebalances replayed")
