"""Checks of the committed boards' JSON that Grafana's builders and linter do not have."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from dashboards.boards import BOARDS
from dashboards.grafana.normalise import text
from dashboards.pages import PAGES, page
from dashboards.parts.board import AGENT_UID, FLEET_UID, GROUP_UID, MEMBERS_UID, SERVICE_UID
from dashboards.parts.grid import Row, lay
from dashboards.parts.panel import Panel

from rebalance_agent.metrics.catalogue import BY_NAME, CATALOGUE
from rebalance_agent.metrics.metric import MetricType
from support.charts.boards import BUILT_IN, FOLDER, boards, panels, questions, variables_in

COMMITTED = boards()
ALL = pytest.mark.parametrize("uid", sorted(COMMITTED))

_OF_ALERTS = {"alertname", "alertstate", "severity", "cluster", "consumergroup"}
PROMETHEUS_OWN = {"up": {"job", "instance"}, "ALERTS": _OF_ALERTS, "ALERTS_FOR_STATE": _OF_ALERTS}
"""Series that Prometheus creates for every target and every alert."""

ADDED = {"job", "instance", "cluster"}
"""Labels of every series: the first two are Prometheus', the last is set by ``cluster_name``."""

NOT_ON_A_BOARD = dict.fromkeys(
    ("kafka_rebalance_topic_members", "kafka_rebalance_topic_partitions"),
    "a setting turns them on, for alerts and boards of single topics",
) | {"rebalance_agent_otlp_exports_total": "a variable turns it on; a push that fails is also a line of the log"}
"""Metric -> why no panel needs it."""

STALLS = re.compile(r"kafka_rebalance_stall(ed_partition)?(_upper)?_seconds")
"""Metrics that are bounds of stalls."""

PARTS = re.compile(r"_(bucket|sum|count)$")
SELECTOR = re.compile(r"\b(up|ALERTS(?:_FOR_STATE)?|kafka_rebalance_\w+|rebalance_agent_\w+)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"")
GROUPING = re.compile(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)")


def expressions(board):
    """Location -> PromQL of panels, annotations and variables."""
    for question in questions(board["uid"], board):
        yield f"{question.panel} {question.target}", question.expression
    for annotation in board["annotations"]["list"]:
        yield f"annotation {annotation['name']}", annotation["target"]["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield f"variable {variable['name']}", variable["query"]["query"]


def rows_of(name):
    """The catalogue's row of a series' name, and whether it counts."""
    if name in BY_NAME:
        row = BY_NAME[name]
        return row, row.kind is MetricType.COUNTER
    row = BY_NAME[PARTS.sub("", name)]
    assert row.kind is MetricType.HISTOGRAM, f"{name} is no histogram"
    return row, True


def test_the_committed_files_are_current():
    made = {f"{board.uid}.json": text(board) for board in BOARDS}
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*")} == made, "run `make dashboards`"


def test_the_pages_list_the_existing_panels():
    for board in BOARDS:
        written = (PAGES / f"{board.uid}.md").read_text(encoding="utf-8")
        assert page(written, board) == written, "run `make dashboards`"
    with pytest.raises(ValueError, match="no line"):
        page("# A page", BOARDS[0])


def test_pages_with_a_picture_of_a_board_say_once_that_it_is_drawn():
    pages = {path.name: path.read_text(encoding="utf-8") for path in PAGES.parent.rglob("*.md")}
    with_picture = {name: written for name, written in pages.items() if "images/boards/" in written}
    assert set(with_picture) == {f"{board.uid}.md" for board in BOARDS}
    for name, written in with_picture.items():
        assert " ".join(written.split()).count("it is not a screenshot of Grafana") == 1, name


def test_there_are_five_boards():
    assert set(COMMITTED) == {FLEET_UID, SERVICE_UID, GROUP_UID, MEMBERS_UID, AGENT_UID}
    assert len({board["title"] for board in COMMITTED.values()}) == len(COMMITTED)


@ALL
def test_a_board_is_valid_for_grafana_11_and_later(uid):
    board = COMMITTED[uid]
    assert (board["uid"], board["id"], board["schemaVersion"]) == (uid, None, 39)
    assert board["graphTooltip"] == 1, "the crosshair is shared"
    assert board["description"]
    assert "kafka-rebalance" in board["tags"]
    assert not any("placement" in each for each in (*board["links"], *board["annotations"]["list"]))
    assert len(panels(board)) <= 25


@ALL
def test_panels_have_unique_ids_and_titles_and_do_not_overlap(uid):
    placed = COMMITTED[uid]["panels"]
    assert len({panel["id"] for panel in placed}) == len(placed)
    assert len({panel["title"] for panel in placed}) == len(placed)
    for panel in placed:
        place = panel["gridPos"]
        assert place["w"] > 0
        assert place["h"] > 0
        assert 0 <= place["x"] <= place["x"] + place["w"] <= 24
    for one, other in combinations((panel["gridPos"] for panel in placed), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        over = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or over, (one, other)


@ALL
def test_numbers_are_on_top_and_other_panels_under_headings(uid):
    placed = COMMITTED[uid]["panels"]
    headings = [at for at, panel in enumerate(placed) if panel["type"] == "row"]
    assert len(headings) >= 3
    assert {panel["type"] for panel in placed[: headings[0]]} <= {"stat", "table", "state-timeline"}
    assert not any(panel["type"] == "stat" for panel in placed[headings[0] :])
    for at in headings:
        assert not placed[at]["collapsed"]
        assert placed[at]["gridPos"]["w"] == 24


def test_a_row_that_is_too_wide_or_has_a_gap_is_refused():
    panel = Panel(1, "t", "q?", (), width=12)
    assert [spot.x for _, spot in lay([Row(4, (panel, panel))])] == [0, 12]
    for each in ((panel,), (panel,) * 3):
        with pytest.raises(ValueError, match="wide"):
            list(lay([Row(4, each)]))


@ALL
def test_each_panel_has_its_question_and_an_explanation(uid):
    for panel in panels(COMMITTED[uid]):
        title, reported = panel["title"], panel["description"]
        assert re.match(r"[A-Z][^.]*\?", reported), f"{title}: a description begins with its question"
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"], title
        assert defaults["noValue"], title
        assert defaults["thresholds"]["steps"], f"{title}: with Grafana's own thresholds 80 is bad"
        assert defaults["thresholds"]["steps"][0]["value"] is None, title
        reduced = panel["options"].get("reduceOptions")
        assert reduced is None or reduced["calcs"] == ["lastNotNull"], title
        legend = panel["options"].get("legend", {"calcs": []})
        assert "sum" not in legend["calcs"], f"{title}: the sum of a rate is nothing"


@ALL
def test_every_query_uses_the_selected_datasource(uid):
    board = COMMITTED[uid]
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    assert [variable["type"] for variable in board["templating"]["list"]].index("datasource") == 0
    asked = [*panels(board), *board["annotations"]["list"]]
    asked += [target for panel in panels(board) for target in panel["targets"]]
    asked += [variable for variable in board["templating"]["list"] if variable["type"] == "query"]
    assert {str(each["datasource"]) for each in asked} == {str(chosen)}


@ALL
def test_every_target_has_a_query_and_lines_have_names(uid):
    for panel in panels(COMMITTED[uid]):
        assert panel["targets"], panel["title"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        for target in panel["targets"]:
            assert target["expr"].strip(), panel["title"]
            assert target["instant"] is not target["range"]
            if target["range"]:
                assert target["legendFormat"], f"{panel['title']}: Grafana would show the query"


@ALL
def test_every_variable_is_defined_before_its_use_and_used(uid):
    board = COMMITTED[uid]
    known = set()
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            assert variables_in(variable["query"]["query"]) - BUILT_IN <= known, variable["name"]
            assert variable["refresh"] == 2, "anew when the time range changes"
        assert not any(key.startswith("auto") for key in variable)
        known.add(variable["name"])
    assert {"datasource", "cluster", "job", "instance"} <= known, uid
    used = set()
    for _, expression in expressions(board):
        used |= variables_in(expression)
    for link in [*board["links"], *links(board)]:
        used |= variables_in(link["url"])
    assert used - BUILT_IN <= known
    assert known - used == set()


@ALL
def test_every_query_selects_only_the_chosen_agents(uid):
    for question in questions(uid, COMMITTED[uid]):
        for name, matchers in SELECTOR.findall(question.expression):
            # Rules drop the label of the process, so alerts have no instance.
            wanted = {"job", "instance"} if not name.startswith("ALERTS") else set()
            wanted |= {"cluster"} if name != "up" else set()
            assert wanted <= set(MATCHER.findall(matchers)), f"{question}: {name}"


def test_every_panel_of_the_board_members_shows_the_selected_members():
    """Records of share groups are counted by group, since their consumers report nothing as members."""
    for question in questions(MEMBERS_UID, COMMITTED[MEMBERS_UID]):
        by_group = "kafka_rebalance_share_" in question.expression
        assert ('consumergroup=~"$consumergroup"' if by_group else 'client_id=~"$client_id"') in question.expression


def test_the_board_group_opens_with_the_group_with_the_highest_cost():
    (chosen,) = (each for each in COMMITTED[GROUP_UID]["templating"]["list"] if each["name"] == "consumergroup")
    assert chosen["query"]["query"].startswith("query_result(sort_desc(")
    assert chosen["sort"] == 0, "in the query's order"
    assert "current" not in chosen, "so Grafana takes the first one"
    # Grafana's text of a series in a result, before its value and time.
    regex = re.compile(chosen["regex"].strip("/"))
    assert regex.search('{consumergroup="orders "a" {b}"} 12.5 1700000000000')[1] == 'orders "a" {b}'


def test_the_board_service_accepts_a_regular_expression_of_groups():
    (chosen,) = (each for each in COMMITTED[SERVICE_UID]["templating"]["list"] if each["name"] == "consumergroup")
    assert (chosen["type"], chosen["query"], chosen["current"]["value"]) == ("textbox", ".+", ".+")
    for question in questions(SERVICE_UID, COMMITTED[SERVICE_UID]):
        for name, matchers in SELECTOR.findall(question.expression):
            if 'alertname=~"RebalanceAgent' not in matchers:
                assert 'consumergroup=~"$consumergroup"' in matchers, f"{question}: {name}"


def links(board):
    """Links of panels and of columns."""
    for panel in panels(board):
        yield from panel["fieldConfig"]["defaults"].get("links", [])
        for override in panel["fieldConfig"]["overrides"]:
            for looks in override["properties"]:
                if looks["id"] == "links":
                    yield from looks["value"]


@ALL
def test_links_lead_to_existing_boards_and_pass_time_and_variables(uid):
    board = COMMITTED[uid]
    leads = {link["url"].split("?")[0].removeprefix("/d/") for link in board["links"]}
    assert leads == set(COMMITTED) - {uid}
    for link in board["links"]:
        assert link["keepTime"]
    for link in links(board):
        assert "&${__url_time_range}" in link["url"], "of the last 15 minutes, not of two moments"
    for link in [*board["links"], *links(board)]:
        target = link["url"].split("?")[0].removeprefix("/d/")
        there = {variable["name"] for variable in COMMITTED[target]["templating"]["list"]}
        taken = {name for name in variables_in(link["url"]) if not name.startswith("__")}
        assert {"datasource", "cluster"} <= taken <= there, link["url"]
        assert set(re.findall(r"[?&]var-(\w+)=", link["url"])) <= there, link["url"]


def test_clicks_lead_from_the_fleet_to_a_group_and_from_there_to_a_member():
    group = f"/d/{GROUP_UID}?var-consumergroup=${{__data.fields.Group:percentencode}}&"
    client = f"/d/{MEMBERS_UID}?var-client_id=${{__data.fields.Client:percentencode}}&"
    departed = "&var-client_id=${__data.fields.Member:percentencode}&"
    for uid, targets, chosen in (
        (FLEET_UID, {GROUP_UID, MEMBERS_UID}, (group, departed)),
        (SERVICE_UID, {GROUP_UID}, (group,)),
        (GROUP_UID, {MEMBERS_UID}, (client, departed.removeprefix("&"))),
    ):
        urls = [link["url"] for link in links(COMMITTED[uid])]
        assert all(any(each in url for url in urls) for each in chosen), uid
        assert {url.split("?")[0] for url in urls} == {f"/d/{target}" for target in targets}


@ALL
def test_counters_are_queried_only_for_their_increase(uid):
    for where, expression in expressions(COMMITTED[uid]):
        for found in SELECTOR.finditer(expression):
            if found[1] in PROMETHEUS_OWN or where.startswith("variable"):
                continue
            _, counts = rows_of(found[1])
            before, after = expression[: found.start()], expression[found.end() :]
            asked_so = re.search(r"\b(rate|increase)\($", before) and after.startswith("[")
            assert bool(asked_so) is counts, f"{where}: {found[0]}"


@ALL
def test_metrics_are_in_the_catalogue_and_have_these_labels(uid):
    for where, expression in expressions(COMMITTED[uid]):
        labels_here = set()
        for name, matchers in SELECTOR.findall(expression):
            labels = PROMETHEUS_OWN.get(name)
            if labels is None:
                row, _ = rows_of(name)
                labels = {*row.labels, *ADDED} | ({"le"} if row.kind is MetricType.HISTOGRAM else set())
                for label, value in re.findall(r'(\w+)!?="(\w+)"', matchers):
                    assert label not in row.values or value in row.values[label], f"{where}: {label}={value}"
            assert set(MATCHER.findall(matchers)) <= labels, f"{where}: {name}"
            labels_here |= labels
        grouped = {label.strip() for group in GROUPING.findall(expression) for label in group.split(",")} - {""}
        assert grouped <= labels_here, where


@ALL
def test_legends_and_columns_use_labels_of_the_result(uid):
    for panel in panels(COMMITTED[uid]):
        for target in panel["targets"]:
            named = set(re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")))
            kept = {label.strip() for group in GROUPING.findall(target["expr"]) for label in group.split(",")}
            assert named <= kept, panel["title"]


def test_every_metric_is_on_a_board_or_there_is_a_reason():
    shown = set()
    for board in COMMITTED.values():
        for question in questions(board["uid"], board):
            shown |= {name for name, _ in SELECTOR.findall(question.expression)}
    shown |= {PARTS.sub("", name) for name in shown}
    assert {row.name for row in CATALOGUE} - shown == set(NOT_ON_A_BOARD)


def test_every_panel_of_stalls_names_its_bound():
    named = 0
    for board in COMMITTED.values():
        for panel in panels(board):
            metrics = {found for target in panel["targets"] for found in STALLS.findall(target["expr"])}
            for upper in {upper for _, upper in metrics}:
                bound = "upper bound" if upper else "lower bound"
                assert bound in panel["description"], f"{board['uid']}: {panel['title']}"
                named += 1
    assert named


def test_gauges_of_several_observers_are_not_added_up():
    for board in COMMITTED.values():
        for where, expression in expressions(board):
            for found in re.finditer(r"\b(sum|avg)\s*(?:by \([^)]*\) )?\((kafka_rebalance_\w+)", expression):
                row, counts = rows_of(found[2])
                assert counts or row.role == "sidecar", f"{board['uid']}: {where}"
