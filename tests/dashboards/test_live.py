"""Every query of every board, against a real Prometheus that scraped real agents during the demo's steps."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from rebalance_agent.demo.scenario import GROUPS as DEMO
from support.charts.board_picture import picture
from support.charts.boards import ROOT, boards, filled, panels, put_in, questions
from support.charts.grafana_answers import PICTURE_STEP, answers
from support.charts.grafana_answers import shown as panels_shown

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

BOARDS = boards()
PICTURES = ROOT / "docs" / "images" / "boards"
GROUPS = tuple(group.name for group in DEMO)
EVERY = tuple(question for uid, board in BOARDS.items() for question in questions(uid, board))

SILENT = {
    "rebalance-fleet: Rebalance time by phase C": "no group of type consumer, share or streams",
    "rebalance-fleet: Rebalance time by phase D": "no group of type consumer, share or streams",
    "rebalance-service: Rebalances in and outside deploys A": "the deploy is too short to be recognised",
    "rebalance-group: Stall of each rebalance D": "no group is stalled for 30 s",
    "rebalance-group: Phases of the last rebalance C": "no group of type consumer, share or streams",
    "rebalance-group: Phases of the last rebalance D": "no group of type consumer, share or streams",
    "rebalance-group: Membership F": "the demo has no streams group",
    "rebalance-group: Assignor and protocol C": "the demo has no share group",
    "rebalance-group: Assignment problems C": "no group is declared to be co-partitioned",
    "rebalance-agent: Events E": "no gateway of the demo passes pushes on",
    "rebalance-agent: Gateways: waiting C": "no file switches seats off",
    "rebalance-agent: Gateways: waiting D": "no act of the gateway was wrong three times in a row",
    "rebalance-members: Assignor errors C": "no group has standbys",
    "rebalance-members: Client libraries C": "the demo's gateway has no Java client",
    "rebalance-members: Rebalances measured by clients B": "the demo's gateway has no Java client",
    "rebalance-members: Share groups: records delivered again A": "the demo has no share group",
    "rebalance-members: Share groups: acknowledgements A": "the demo has no share group",
    "rebalance-members: Time between polls A": "the demo's gateway has no Java client",
    "rebalance-members: Time between polls B": "the demo's gateway has no Java client",
    "rebalance-group: Failed and no-op rebalances E": "the observer reads the offsets topic: no group is only polled",
}
"""Queries without a result in this run, with the reason."""

WHERE_ANY = " > 0"
"""Suffixes of queries that omit zeros."""

FLEETING = {
    "rebalance-agent: Events C": "no event is lost",
    "rebalance-agent: Skipped records and events A": "no record is broken",
    "rebalance-agent: Skipped records and events B": "all records of this Kafka are known",
    "rebalance-agent: Skipped records and events F": "no group causes too much work",
    "rebalance-agent: Tail of the offsets topic B": "no group causes too much work",
    "rebalance-agent: Rejected requests, closed connections A": "no connection is rejected",
    "rebalance-agent: Rejected requests, closed connections B": "no connection is rejected",
    "rebalance-agent: Kafka problems B": "snapshots have no problem",
    "rebalance-agent: Rejected requests, closed connections C": "no connection is rejected",
    "rebalance-agent: Gateways: seats A": "no group of the demo has seats",
    "rebalance-agent: Gateways: seats B": "no group of the demo has seats",
    "rebalance-agent: Gateways: cost and benefit of seats A": "no group of the demo has seats",
    "rebalance-agent: Gateways: cost and benefit of seats B": "no group of the demo has seats",
    "rebalance-agent: Gateways: cost and benefit of seats C": "no group of the demo has seats",
    "rebalance-members: Assignor errors A": "no assignor fails",
    "rebalance-members: Assignor errors B": "all user data can be decoded",
    "rebalance-agent: Degraded modes A": "only while an agent starts",
    "rebalance-members: Revoked, assigned and lost partitions C": "only if a busy machine delays a member",
    "rebalance-members: Repeated work A": "only if a busy machine delays a commit",
    "rebalance-members: Repeated work B": "only if a busy machine delays a commit",
    "rebalance-members: Members F": "only if a busy machine delays a member",
    "rebalance-members: Partitions reported lost A": "only if a busy machine delays a member",
    "rebalance-fleet: Groups without members A": "each group of the demo has members",
    "rebalance-group: Stalled partitions D": "only if a member returns after its removal on a busy machine",
    "rebalance-group: Topics on few members A": "a topic is clustered only between two steps of a cooperative group",
}
"""Queries with results only after a problem, or if a scrape happens at the right time."""

NOBODY_DEPARTED = ("rebalance-group", "Members that failed or keep leaving")
"""The only table without rows: no member of the group that is drawn fails or keeps leaving."""

QUIET = {
    "cluster": "no cluster_name is set",
    "annotation Takeovers and reconnects": "one observer, one broker",
    "annotation Deploys": "no group is deployed",
}


def asked(live, question, group, across="sum"):
    """Series with values."""
    expression = filled(question.expression, live.seconds, question.step, group, across)
    if question.now:
        found = live.prometheus.at(expression, live.ended)
    else:
        found = live.prometheus.over(expression, live.began, live.ended)
    return [each for each in found if any(math.isfinite(value) for _, value in each.points)]


def groups_of(question):
    """All values at once if the board allows it; otherwise one after the other, because their results differ."""
    return GROUPS if question.board == "rebalance-group" else (".+",)


@pytest.mark.parametrize("question", EVERY, ids=str)
def test_each_query_has_a_result(question, live):
    answered = any(asked(live, question, group) for group in groups_of(question))
    if str(question) in SILENT:
        assert not answered, "it can be answered: take it off the list"
    elif str(question) in FLEETING and question.expression.endswith(WHERE_ANY):
        # Without an increase or a state the query itself still has a result.
        all_of_it = replace(question, expression=question.expression.removesuffix(WHERE_ANY))
        assert any(asked(live, all_of_it, group) for group in groups_of(question))
    else:
        assert answered or str(question) in FLEETING


def test_the_list_of_queries_without_results_is_current():
    assert {*SILENT, *FLEETING} <= {str(question) for question in EVERY}


def test_all_panels_except_three_have_data_in_this_run():
    known = {
        (question.board, question.panel)
        for question in EVERY
        if str(question) not in SILENT and (str(question) not in FLEETING or question.expression.endswith(WHERE_ANY))
    }
    assert {(question.board, question.panel) for question in EVERY} - known == {
        ("rebalance-fleet", "Groups without members"),
        ("rebalance-members", "Share groups: records delivered again"),
        ("rebalance-members", "Share groups: acknowledgements"),
    }


def test_one_observer_is_the_same_whether_observers_share_or_each_see_all(live):
    for question in EVERY:
        if "$across" in question.expression:
            group = groups_of(question)[0]
            shared, apart = (
                {str(each.labels): str(each.points) for each in asked(live, question, group, across)}
                for across in ("sum", "max")
            )
            assert shared == apart, question


@pytest.mark.parametrize("uid", BOARDS)
def test_each_variable_has_values(uid, live):
    chosen = {"cluster": ".*", "job": ".+", "instance": ".+", "consumergroup": ".+"}
    chosen["__range"] = f"{math.ceil(live.seconds)}s"
    for variable in BOARDS[uid]["templating"]["list"]:
        if variable["type"] != "query":
            continue
        query = put_in(variable["query"]["query"], chosen)
        if ranked := re.fullmatch(r"query_result\((.*)\)", query):
            offered = [each.labels[variable["name"]] for each in live.prometheus.at(ranked[1], live.ended)]
            assert offered[0] == "orders-weighted", "the board opens with the worst group"
        else:
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()
            offered = live.prometheus.answer(
                f"label/{label}/values", **{"match[]": metric, "start": live.began, "end": live.ended}
            )
        assert bool(offered) is (variable["name"] not in QUIET), variable["name"]
        if variable["name"] == "consumergroup":
            unreported = {"readings-cooperative"} if uid == "rebalance-members" else set()
            assert set(offered) == {group.name for group in DEMO} - unreported, "plain clients report nothing"


@pytest.mark.parametrize("uid", BOARDS)
def test_annotations_mark_the_times_of_rebalances(uid, live):
    for annotation in BOARDS[uid]["annotations"]["list"]:
        group = "orders-weighted"
        expression = filled(annotation["target"]["expr"], live.seconds, 0, group)
        found = live.prometheus.over(expression, live.began, live.ended)
        if f"annotation {annotation['name']}" in QUIET:
            continue
        times = {value / 1000 for each in found for _, value in each.points}
        inside = [each for each in times if live.began <= each <= live.ended]
        assert annotation["useValueForTime"]
        # Its members left and returned while everything was scraped, the second time with a slow callback.
        assert len(inside) >= 2, times
        slow = live.step("slow consumer")
        assert any(slow + 6 <= each <= slow + 30 for each in inside), (times, slow)


# -- from a new user's view --------------------------------------------------------------------------------------


def the(uid, title, target="A"):
    return next(
        question for question in EVERY if (question.board, question.panel, question.target) == (uid, title, target)
    )


def test_the_fleet_board_shows_the_group_with_the_highest_cost_and_its_cause(live):
    lost, _, _, trigger, _, slowest = (
        {each.labels["consumergroup"]: each for each in asked(live, question, ".+")}
        for question in EVERY
        if question.panel == "Most expensive groups, and why" and question.target in "ABCDEF"
    )
    worst = max(lost, key=lambda group: lost[group].value)
    assert worst == "orders-weighted", "100 partitions waited 6 s for one member"
    assert slowest[worst].labels["client_id"] == "orders-90"
    assert 5 < slowest[worst].value < 20
    # Any of equally frequent ones; and on a busy machine the leave may not have been reported in time.
    assert trigger[worst].labels["trigger"] in {"member_joined", "member_left", "member_gone"}


def test_the_group_board_shows_the_wait_the_states_and_the_moves(live):
    (state,) = asked(live, the("rebalance-group", "State"), "orders-weighted")
    assert {1.0, 2.0} <= {value for _, value in state.points}, "Stable, and PreparingRebalance for 6 s"
    joins = asked(live, the("rebalance-group", "Phases of the last rebalance"), "orders-weighted")
    assert max(value for _, value in joins[0].points) > 5
    owners = asked(live, the("rebalance-group", "Current owners"), "orders-weighted")
    assert {each.labels["client_id"]: each.value for each in owners} == {
        "orders-900": 90,
        "orders-90": 9,
        "orders-10": 1,
    }
    (uneven,) = asked(live, the("rebalance-group", "Assignment problems"), "clicks-range")
    assert uneven.value > 20


def test_the_group_board_shows_that_topics_were_on_one_host_each_until_the_assignor_changed(live):
    spread, apart = (
        asked(live, the("rebalance-group", "Topics on few members", each), "clicks-hosts") for each in "BC"
    )
    for (series,), first in ((spread, 0.5), (apart, 0.0)):
        values = [value for _, value in series.points]
        before = [value for at, value in series.points if at < live.step("hosts: leave")]
        assert before[-1] == first
        assert values[-1] == 1


def test_the_members_board_shows_whose_callback_was_slow(live):
    # With the pictures' interval, because the run is shorter than the board's interval.
    slowest = replace(the("rebalance-members", "Slowest callbacks"), step=PICTURE_STEP)
    assert {"revoked", "assigned"} <= {each.labels["callback"] for each in asked(live, slowest, ".+")}
    revoked = {
        each.labels["instance"]: max(value for _, value in each.points if math.isfinite(value))
        for each in asked(live, slowest, "orders-weighted")
        if each.labels["callback"] == "revoked"
    }
    assert revoked
    # All members of the demo report to one sidecar, so this is the mean of the slow callback and the fast ones.
    assert 1 < max(revoked.values()) < 20, "no bound of a bucket"


# -- rendered by Grafana -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown(live, tmp_path_factory):
    """Uid -> panel -> the results of Grafana's own functions."""
    answered = {
        uid: answers(live, board, "orders-weighted" if uid == "rebalance-group" else ".+")
        for uid, board in BOARDS.items()
    }
    return panels_shown(BOARDS, answered, tmp_path_factory.mktemp("shown"))


def column(frame, name):
    """Texts and colours of a table's column."""
    return next(field["values"] for field in frame["fields"] if field["name"] == name)


def test_grafana_makes_one_table_of_the_groups(shown):
    (frame,) = shown["rebalance-fleet"]["Most expensive groups, and why"]
    names = [field["name"] for field in frame["fields"]]
    assert names == [
        *("Group", "Lost", "At most", "Availability", "Rebalances", "Main trigger", "Mean stall", "Slowest member"),
        *("Waited", "Running", "Other problem"),
    ]
    groups = [value["text"] for value in column(frame, "Group")]
    assert sorted(groups) == sorted(GROUPS)
    at = groups.index("orders-weighted")
    assert re.fullmatch(r"\d+\.\d mins", column(frame, "Lost")[at]["text"])
    assert column(frame, "Slowest member")[at]["text"] == "orders-90"
    assert re.fullmatch(r"\d+\.\d s", column(frame, "Waited")[at]["text"])
    idle = groups.index("clicks-range")
    assert column(frame, "Other problem")[idle]["text"] in {"uneven", "idle members"}
    assert "no group is watched" not in json.dumps(frame), "an empty cell shows -"
    link = next(field["link"] for field in frame["fields"] if field["name"] == "Group")
    assert link.startswith("/d/rebalance-group?var-consumergroup=${__data.fields.Group:percentencode}&")


def test_the_fleet_board_shows_what_recommended_changes_save(shown):
    (frame,) = shown["rebalance-fleet"]["Savings by group"]
    names = ("Group", "Saved", "Predicted", "Could be saved")
    rows = zip(*([value["text"] for value in column(frame, name)] for name in names), strict=True)
    assert sorted(rows) == [("clicks-range", "-", "-", "1.4 mins"), ("orders-weighted", "21.0 mins", "17.2 mins", "-")]


def test_the_fleet_board_names_the_member_that_was_killed(live):
    departed = asked(live, the("rebalance-fleet", "Members that failed or keep leaving"), ".+")
    named = {(each.labels["client_id"], each.labels["how"]) for each in departed}
    assert ("payments-active", "failed") in named
    assert not any(name.startswith("orders-") for name, _ in named), "a member that leaves once is not one of them"


def test_a_link_leads_from_an_owner_to_its_own_reports(shown):
    (frame,) = shown["rebalance-group"]["Current owners"]
    assert {value["text"] for value in column(frame, "Client")} == {"orders-900", "orders-90", "orders-10"}
    link = next(field["link"] for field in frame["fields"] if field["name"] == "Client")
    assert link.startswith("/d/rebalance-members?var-client_id=${__data.fields.Client:percentencode}&")


def test_tables_have_only_named_columns(shown):
    for uid, board in BOARDS.items():
        for panel in panels(board):
            if panel["type"] == "table":
                headings = set(panel["transformations"][-1]["options"]["renameByName"].values())
                frames = shown[uid][panel["title"]]
                assert len(frames) == 1 or (uid, panel["title"]) == NOBODY_DEPARTED
                for frame in frames:
                    assert {field["name"] for field in frame["fields"]} <= headings, panel["title"]


def test_grafana_knows_states_units_and_colours(shown):
    states = {(value["text"], value["color"]) for value in shown["rebalance-group"]["State"][0]["fields"][1]["values"]}
    assert {text for text, _ in states} <= {"Stable", "PreparingRebalance", "CompletingRebalance", "Empty"}
    assert len({color for _, color in states}) == len(states) >= 2
    availability = shown["rebalance-fleet"]["Availability"][0]["fields"][1]["values"][0]
    assert re.fullmatch(r"\d\d\.\d\d%", availability["text"])
    healthy = shown["rebalance-fleet"]["Stuck now"][0]["fields"][1]["values"][0]
    assert healthy["text"] == "0"
    assert availability["color"] != healthy["color"], "92 % is not good, no stuck group is"
    (agents,) = shown["rebalance-agent"]["Agents"]
    assert {value["text"] for value in column(agents, "Configured")} == {"Yes"}
    assert {value["text"] for value in column(agents, "Role")} == {"observer", "sidecar", "gateway"}


def test_lines_have_the_names_of_their_legends(shown):
    names = {
        field["name"]
        for frame in shown["rebalance-group"]["Partitions by member"]
        for field in frame["fields"]
        if field["name"] != "Time"
    }
    assert names == {f"orders-{weight} 127.0.0.1" for weight in (900, 90, 10)}


@pytest.mark.parametrize("uid", BOARDS)
def test_the_picture_of_the_board_is_current(uid, shown):
    """With ``REBALANCE_AGENT_PICTURES=write`` the documentation's pictures are drawn from this run."""
    drawn, committed = picture(BOARDS[uid], shown[uid]), PICTURES / f"{uid}.svg"
    if os.environ.get("REBALANCE_AGENT_PICTURES") == "write":
        PICTURES.mkdir(exist_ok=True)
        committed.write_text(drawn, encoding="utf-8")
    for svg in (drawn, committed.read_text(encoding="utf-8")):
        texts = [element.text for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
        titles = [panel["title"] for panel in panels(BOARDS[uid])]
        assert [title for title in titles if title not in texts] == [], "run with REBALANCE_AGENT_PICTURES=write"
