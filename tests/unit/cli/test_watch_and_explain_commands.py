"""Exit codes, JSON and the sources of `watch` and `explain`."""

import importlib
import json
import sys
from dataclasses import replace

import pytest

from rebalance_agent.api.query import NotKnownError
from rebalance_agent.cli import main
from rebalance_agent.cli.commands import explain, watch
from rebalance_agent.cli.inputs import whatif_past
from rebalance_agent.cli.inputs.agent_api import AgentError
from rebalance_agent.cli.screens import watch_app
from rebalance_agent.model.episode import FailureReason, Source
from rebalance_agent.model.events import AbortedEvent, MemberSnapshot
from rebalance_agent.model.group import DeadLetterQueue, GroupType
from rebalance_agent.model.reported.deliveries_event import ShareDeliveries
from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.tracking.lag.group_lag import GroupLag
from support.http.api import api_of
from support.observer.fakes import generation_event
from support.observer.views import full_view


def rebalance(number, previous=None):
    return generation_event(
        event_id=f"id-{number}",
        group="orders",
        generation=number,
        previous_generation=number - 1 if previous is None else previous,
        episode_generation=number,
        timestamp_ms=1_000 * number,
        members=(MemberSnapshot("m", None, "client", "/h", ("t",), {}, {"t": (0,)}),),
    )


ABORTED = AbortedEvent("aborted", "c", "orders", 4_000, Source.RECORDS, GroupType.CLASSIC, 4, FailureReason.ABORTED)


@pytest.fixture
def agent(monkeypatch):
    """Both commands request this API instead of an agent's."""
    api, *_ = api_of(
        full_view("orders", copartition_breaks=0),
        full_view("quiet", running=None, former_owner=None, copartition_breaks=0),
        events=[*map(rebalance, (1, 2, 3)), ABORTED, rebalance(5, previous=3)],
    )
    for command in (watch, explain):
        monkeypatch.setattr(command, "quiet_logs", lambda: None)
        monkeypatch.setattr(command, "agent_api", lambda _options: api)
    return api


def on_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)


def run(capsys, *arguments):
    try:
        code = main.main(arguments)
    except SystemExit as ended:
        code = ended.code
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_without_a_terminal_the_table_is_printed_once(agent, capsys):
    code, out, err = run(capsys, "watch")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["GROUP", "orders", "quiet"]
    assert run(capsys, "watch", "QUI", "--once")[1].splitlines()[1].startswith("quiet")


def test_on_a_terminal_the_live_table_is_run(agent, capsys, monkeypatch):
    ran = []

    class App:
        def __init__(self, first):
            assert first == "screen"

        def run(self):
            ran.append("ran")

    monkeypatch.setattr(watch_app, "WatchApp", App)
    monkeypatch.setattr(watch_app, "GroupsScreen", lambda *arguments: ran.append(arguments) or "screen")
    on_terminal(monkeypatch)
    assert run(capsys, "watch", "ord", "--sort=-stall", "--interval", "2")[0] == 0
    (groups, caveat, *rest), last = ran
    assert (groups, rest, last) == (agent, ["ord", "-stall", 2.0], "ran")
    agent.note = "the observer is not ready"
    assert caveat() == agent.note


@pytest.mark.parametrize(("arguments", "code"), [(("watch", "--once"), 0), (("watch",), 2)])
def test_only_the_live_table_needs_textual(agent, capsys, monkeypatch, arguments, code):
    for name in [each for each in sys.modules if each.startswith(("textual", "rebalance_agent.cli.commands.watch"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "textual", None)
    fresh = importlib.import_module("rebalance_agent.cli.commands.watch")
    monkeypatch.setattr(fresh, "quiet_logs", lambda: None)
    monkeypatch.setattr(fresh, "agent_api", lambda _options: agent)
    on_terminal(monkeypatch)
    ended, out, err = run(capsys, *arguments)
    assert ended == code
    if code:
        assert "pip install '.[watch]'" in err
    else:
        assert out.startswith("GROUP")


def test_explain_shows_the_last_rebalances_and_their_source(agent, capsys):
    code, out, _ = run(capsys, "explain", "orders", "--last", "2")
    assert code == 0
    assert out.startswith("orders: the last 2 rebalances, from the agent's observations since its start.\n\n")
    assert ["generation 1" in out, "generation 2 " in out, "generation 3 " in out, "generation 5 " in out] == [
        False,
        False,
        True,
        True,
    ]
    assert "Before this rebalance, generation 4 was aborted." in " ".join(out.split())


UNREADY = "the observer is not ready (list: listing groups: \x1btimed out): its data may be out of date or incomplete"


def test_data_of_an_observer_that_is_not_ready_has_a_note(agent, capsys, monkeypatch):
    monkeypatch.setattr(whatif_past, "agent_api", lambda _options: agent)
    shown = UNREADY.replace("\x1b", "\\x1b")
    before = run(capsys, "watch", "--once")[1]
    agent.note = UNREADY
    for form in ("table", "json"):
        code, out, err = run(capsys, "watch", "--once", "--output", form)
        assert (code, err) == (0, f"rebalance-agent watch: {shown}\n")
        assert out == before or json.loads(out)["groups"]
    for command in ("explain", "whatif"):
        code, out, err = run(capsys, command, "orders")
        assert (code, err) == (0, "")
        second = out.splitlines()[1]
        assert second == f"The{shown.removeprefix('the')}."
        assert shown.removeprefix("the") in json.loads(run(capsys, command, "orders", "--json")[1])["source"]


@pytest.mark.parametrize(
    ("last", "reported"), [("1", "the last rebalance"), ("3", "the last 3 rebalances"), ("4", "4 rebalances")]
)
def test_explain_shows_whether_there_are_more_rebalances(agent, capsys, last, reported):
    assert run(capsys, "explain", "orders", "--last", last)[1].startswith(f"orders: {reported}, from the agent's ")


def test_a_change_to_empty_is_not_counted_as_a_rebalance(monkeypatch, capsys):
    emptied = replace(rebalance(3), members=())
    api, *_ = api_of(full_view("orders"), events=[*map(rebalance, (1, 2)), emptied])
    monkeypatch.setattr(explain, "agent_api", lambda _options: api)
    assert run(capsys, "explain", "orders")[1].startswith("orders: 2 rebalances and 1 change to Empty, from ")


def test_explain_can_begin_at_a_time(agent, capsys):
    code, out, _ = run(capsys, "explain", "orders", "--since", "3000")
    assert code == 0
    assert out.startswith("orders: the last 2 rebalances since 1970-01-01 00:00:03 UTC, from the agent's")
    assert ["generation 2 " in out, "generation 3 " in out, "generation 5 " in out] == [False, True, True]
    shorter = run(capsys, "explain", "orders", "--since", "3000", "--last", "1")[1]
    assert ["generation 3 " in shorter, "generation 5 " in shorter] == [False, True]
    later = run(capsys, "explain", "orders", "--since", "2100-01-01", "--json")[1]
    assert json.loads(later)["rebalances"] == []
    assert run(capsys, "explain", "orders", "--since", "2100-01-01")[1].startswith(
        "orders: no settled rebalance since 2100-01-01 00:00:00 UTC, from "
    )


def test_all_rebalances_are_requested_because_advice_needs_them(agent, capsys, monkeypatch):
    asked = []
    whole = agent.rebalance
    monkeypatch.setattr(agent, "rebalance", lambda group, each: asked.append(each) or whole(group, each))
    run(capsys, "explain", "orders", "--last", "1")
    assert asked == ["id-5", "id-3", "id-2", "id-1"]


def test_explain_names_the_removed_member_that_still_owned_partitions_of_others(agent, capsys, monkeypatch):
    said = (
        "Two owners: consumer-0 kept 2 partitions until 2023-11-14 21:13:20 UTC, although other members had owned "
        "them for 14.5 s or more"
    )
    assert said in " ".join(run(capsys, "explain", "orders")[1].split())
    api, *_ = api_of(full_view("orders", former_owner=None), events=[rebalance(1)])
    monkeypatch.setattr(explain, "agent_api", lambda _options: api)
    assert "Two owners" not in run(capsys, "explain", "orders")[1]


def test_explain_and_watch_show_gaps_of_the_assignment(agent, capsys, monkeypatch):
    said = "co-partitioning is broken: 2 partition numbers have different owners in different topics"
    gaps = {"running": None, "unassigned": 3, "copartition_breaks": 2}
    for views, text in ((gaps, f"3 partitions have no owner; {said}"), ({**gaps, "copartition_breaks": 0}, "")):
        api, *_ = api_of(full_view("orders", **views), events=[rebalance(1)])
        for command in (explain, watch):
            monkeypatch.setattr(command, "agent_api", lambda _options, api=api: api)
        explained = " ".join(run(capsys, "explain", "orders")[1].split())
        shown = run(capsys, "watch", "--once", "orders")[1]
        assert text in explained
        assert text in shown
        assert all("3 partitions have no owner" in printed for printed in (explained, shown))
        assert (said in explained, said in shown) == (bool(text), bool(text))


def test_explain_shows_how_long_moved_partitions_catch_up(capsys, monkeypatch, agent):
    assert "catching up" not in run(capsys, "explain", "orders")[1]
    lags = {"orders": GroupLag(70, catch_up=CatchUp(3, 6, 45.0, 150.0))}
    api, *_ = api_of(full_view("orders"), events=[rebalance(1)], lags=lags)
    monkeypatch.setattr(explain, "agent_api", lambda _options: api)
    printed = run(capsys, "explain", "orders")[1]
    assert printed.endswith("\n3 of 6 moved partitions are catching up, the slowest for 45.0 s or more.\n")


def test_explain_shows_lag_and_dead_letter_queue_of_a_share_group(capsys, monkeypatch):
    queue = DeadLetterQueue("dlq.orders", copies_records=True)
    view = full_view("orders", GroupType.SHARE, running=None, dead_letter_queue=queue)
    api, *_ = api_of(view, events=[rebalance(1)], lags={"orders": GroupLag(70, 45.0)})
    monkeypatch.setattr(explain, "agent_api", lambda _options: api)
    printed = " ".join(run(capsys, "explain", "orders")[1].split())
    lag = "Lag is 70 records (neither acknowledged nor archived); the oldest of these records is 45.0 s old."
    assert printed.endswith(f"{lag} Dead letter queue: dlq.orders (keys and values are copied).")


def test_explain_shows_the_deliveries_of_a_share_group(capsys, monkeypatch, agent):
    deliveries = ShareDeliveries(1_795_260_180_000, 1_200, 14, 1_180, 4, 2, 0)
    api, *_ = api_of(full_view("orders", GroupType.SHARE, deliveries=deliveries), events=[rebalance(1)])
    monkeypatch.setattr(explain, "agent_api", lambda _options: api)
    said = (
        "Deliveries through gateways since 2026-11-21 11:23:00 UTC: 1,200 records, 14 of them redelivered, 2 rejected"
    )
    assert f"{said}, 0 lock renewals." in " ".join(run(capsys, "explain", "orders")[1].split())


def test_explain_as_json_has_the_text_and_the_whole_events(agent, capsys):
    code, out, _ = run(capsys, "explain", "orders", "--last", "1", "--json")
    data = json.loads(out)
    assert (code, data["group"]) == (0, "orders")
    assert [each["rebalance"]["id"] for each in data["rebalances"]] == ["id-5"]
    assert data["rebalances"][0]["events"][0]["kind"] == "generation"
    assert "generation 5" in data["text"][0]


def test_a_group_without_rebalances_is_explained(agent, capsys):
    code, out, _ = run(capsys, "explain", "quiet")
    assert (code, out.splitlines()) == (
        0,
        [
            "quiet: no rebalance, from the agent's observations since its start.",
            "The group is at generation 2: its rebalances happened before the agent's start, or are no longer stored.",
            "To explain earlier rebalances, use --bootstrap-servers HOST:PORT.",
        ],
    )


def test_whatif_names_the_flag_for_earlier_rebalances(agent, capsys, monkeypatch):
    monkeypatch.setattr(whatif_past, "agent_api", lambda _options: agent)
    code, _, err = run(capsys, "whatif", "quiet")
    assert (code, "to read earlier ones, use --bootstrap-servers HOST:PORT" in err) == (1, True)


def test_explain_shows_rebalances_that_are_running_or_have_not_settled(capsys, monkeypatch, agent):
    calmed = {"former_owner": None, "copartition_breaks": 0}
    view = full_view("new", unsettled_ms=1_800_000_000_000, **calmed)
    api, *_ = api_of(view, events=[])
    monkeypatch.setattr(explain, "agent_api", lambda _options: api)
    first, *_, unsettled, running = run(capsys, "explain", "new")[1].replace("\n  ", " ").split("\n\n")
    assert first.startswith("new: no settled rebalance, from the agent's ")
    assert unsettled.startswith(
        "A rebalance completed at 2027-01-15 08:00:00.000 UTC. It will be explained when it has settled"
    )
    assert running.startswith("A rebalance has been running for ")
    assert running.endswith(": 6 partitions are stalled.\n")
    calm, *_ = api_of(full_view("new", running=None, **calmed), events=[])
    monkeypatch.setattr(explain, "agent_api", lambda _options: calm)
    said = run(capsys, "explain", "new")[1]
    assert said.startswith("new: no rebalance, ")
    assert (
        f"The group is at generation {calm.group('new').summary.generation}: its rebalances happened before the "
        "agent's start, or are no longer stored." in said
    )


def test_an_unknown_group_is_reported_with_the_closest_name(agent, capsys):
    code, out, err = run(capsys, "explain", "oders")
    assert (code, out) == (1, "")
    assert err == "rebalance-agent explain: there is no group 'oders' here; did you mean orders?\n"
    assert "'order; s' here; did you mean orders?" in run(capsys, "explain", "order; s")[2]
    assert "did you mean" not in run(capsys, "explain", "billing")[2]


@pytest.mark.parametrize(
    ("wanted", "meant"), [("oders", "; did you mean orders?"), ("oders*", "; did you mean orders?"), ("billing", "")]
)
def test_a_filter_that_matches_no_group_is_reported_with_the_closest_name(agent, capsys, wanted, meant):
    code, out, err = run(capsys, "watch", wanted, "--once")
    assert (code, [line.split()[0] for line in out.splitlines()]) == (1, ["GROUP"])
    assert err == f"rebalance-agent watch: none of the 2 groups matches {wanted!r}{meant}\n"


def test_a_filter_that_does_not_match_the_only_group_is_reported(monkeypatch, capsys, agent):
    api, *_ = api_of(full_view("or\x1bders"), events=[])
    monkeypatch.setattr(watch, "agent_api", lambda _options: api)
    code, _, err = run(capsys, "watch", "oders", "--once")
    assert code == 1
    assert err.startswith("rebalance-agent watch: the only group does not match 'oders'; did you mean or")
    assert "\x1b" not in err


@pytest.mark.parametrize(
    ("error", "command", "code"),
    [
        (NotKnownError("there is no group '\x1b'"), ("explain", "nobody"), 1),
        (AgentError("no agent responds"), ("explain", "orders"), 2),
        (AgentError("no agent responds"), ("watch", "--once"), 2),
    ],
)
def test_a_failed_request_ends_with_an_exit_code_and_the_reason(agent, capsys, monkeypatch, error, command, code):
    def fail(*_arguments):
        raise error

    monkeypatch.setattr(agent, "groups", fail)
    monkeypatch.setattr(agent, "rebalances", fail)
    ended, out, err = run(capsys, *command)
    assert (ended, out) == (code, "")
    assert err.startswith(f"rebalance-agent {command[0]}: {str(error)[:5]}")
    assert "\x1b" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain",),
        ("explain", "orders", "--last", "0"),
        ("explain", "orders", "--last", "51"),
        ("explain", "orders", "--last", "9" * 5_000),
        ("explain", "orders", "--bootstrap-servers", "x:1", "--url", "http://x"),
        ("explain", "orders", "--kafka", "nonsense"),
        ("explain", "orders", "--host-names", "orders=nodes"),
        ("watch", "--sort", "color"),
        ("watch", "--interval", "0"),
        ("watch", "--interval", "nan"),
        ("watch", "--bootstrap-servers", "x:1", "--ca-file", "ca.pem"),
        ("watch", "--once", "--kafka", "security.protocol=nonsense", "--bootstrap-servers", "x:1"),
    ],
)
def test_wrong_usage_is_two(agent, capsys, arguments):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err
