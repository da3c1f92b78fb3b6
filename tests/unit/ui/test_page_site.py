from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.api.groups_api import GroupsApi
from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.assignors.hosts.topic_hosts import HostSpread
from rebalance_agent.clock import FakeClock
from rebalance_agent.http.bearer import Bearer
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.export.clients_seen import OVERDUE_SECONDS
from rebalance_agent.metrics.export.member_metrics import MemberMetrics
from rebalance_agent.model.baseline import AdviceSavings
from rebalance_agent.model.epoch_groups import StreamsTopology, Subtopology
from rebalance_agent.model.events import Callback, MemberSnapshot
from rebalance_agent.model.group import DeadLetterQueue, GroupType
from rebalance_agent.model.reported.deliveries_event import ShareDeliveries
from rebalance_agent.runtime.listeners.web import WebApp
from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.tracking.lag.group_lag import NO_LAGS, GroupLag
from rebalance_agent.tracking.views import MemberLoad
from rebalance_agent.ui.page.group_list import group_link
from rebalance_agent.ui.page.group_page import SUBTOPOLOGIES_SHOWN
from rebalance_agent.ui.page.site import ASSETS, GroupPages, Site
from rebalance_agent.ui.words import moment_to_second
from support.http.asked import ask
from support.observer.views import NOW, full_view, member_event
from support.tracker.histories import clustered, generation, on_hosts

TOKEN = "t" * 16


def site(views=(), events=(), readiness=None, lags=NO_LAGS, savings=None):
    history, clock = EpisodeHistory(), FakeClock(NOW)
    for event in events:
        history.on_event(event)
    api = GroupsApi(lambda: tuple(views), history, clock, lambda: lags)
    return Site(readiness or Readiness(), groups=GroupPages(api, history, clock, savings=(savings or {}).get))


def get(pages, address="", bearer=None, **headers):
    app = WebApp((), Readiness(), site=pages, bearer=bearer)
    status, headers, body = ask(app, f"/{address}", **headers)
    return status, headers, body.decode()


class Tags(HTMLParser):
    """Every tag with the names of its attributes."""

    def __init__(self, html):
        super().__init__()
        self.seen = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, *(name for name, _ in attrs)))


def test_a_group_shows_how_long_its_moved_partitions_catch_up():
    lags = {"g": GroupLag(70, catch_up=CatchUp(3, 6, 45.0, 150.0))}
    said = "3 of 6 moved partitions are catching up, the slowest for 45.0 s or more."
    assert said in get(site([full_view("g")], lags=lags), "group?name=g")[2]
    assert "catching up" not in get(site([full_view("g")]), "group?name=g")[2]


@pytest.mark.parametrize(
    ("group_type", "lag", "shown"),
    [
        (GroupType.SHARE, GroupLag(5_000, 45.0), '5,000 records <span class="besides">(oldest: 45.0 s)</span>'),
        (GroupType.CLASSIC, GroupLag(5_000), "5,000 offsets"),
        (GroupType.CLASSIC, GroupLag(0, 0.0), "0 offsets"),
    ],
)
def test_a_group_shows_its_lag_if_it_is_measured(group_type, lag, shown):
    page = get(site([full_view("g", group_type)], lags={"g": lag}), "group?name=g")[2]
    assert f"<dt>lag</dt><dd>{shown}</dd>" in page
    assert "<dt>lag</dt>" not in get(site([full_view("g", group_type)]), "group?name=g")[2]


def test_a_share_group_shows_its_dead_letter_queue_if_it_is_known():
    view = full_view("g", GroupType.SHARE, dead_letter_queue=DeadLetterQueue("dlq.<g>", copies_records=False))
    assert "; dead letter queue: dlq.&lt;g&gt; (only headers are written)</p>" in get(site([view]), "group?name=g")[2]
    unknown = full_view("g", GroupType.SHARE, dead_letter_queue=None)
    assert "dead letter" not in get(site([unknown]), "group?name=g")[2]


def test_a_share_group_shows_its_deliveries_if_gateways_report_them():
    deliveries = ShareDeliveries(1_795_260_180_000, 1_200, 14, 1_180, 4, 2, 0)
    said = "Deliveries through gateways since 2026-11-21 11:23:00 UTC: 1,200 records, 14 of them redelivered, "
    view = full_view("g", GroupType.SHARE, deliveries=deliveries)
    assert f"{said}2 rejected, 0 lock renewals." in get(site([view]), "group?name=g")[2]
    unknown = full_view("g", GroupType.SHARE, deliveries=None)
    assert "Deliveries" not in get(site([unknown]), "group?name=g")[2]


def test_a_streams_group_shows_its_topology_if_it_is_known():
    topology = StreamsTopology(1, (Subtopology("0", ("<orders>",), (), (), ()),) * (SUBTOPOLOGIES_SHOWN + 5))
    text = get(site([full_view("g", GroupType.STREAMS, topology=topology)]), "group?name=g")[2]
    assert f">Topology, the first {SUBTOPOLOGIES_SHOWN} of {SUBTOPOLOGIES_SHOWN + 5}</h2>" in text
    assert text.count("&lt;orders&gt;") == SUBTOPOLOGIES_SHOWN
    assert "Topology" not in get(site([full_view("g", GroupType.STREAMS)]), "group?name=g")[2]


def test_list_and_group_show_what_recommended_changes_save():
    savings = {
        "a": AdviceSavings(taken=2, measured=2, realised=1_200.0, predicted=900.4),
        "b": AdviceSavings(taken=1, measured=1, realised=-2_000.0, predicted=100.0, open=1, open_predicted=4.25),
        "new": AdviceSavings(taken=1),
        "open": AdviceSavings(open=3),
        "another": AdviceSavings(taken=9, measured=9, realised=9e9),
    }
    pages = site([full_view(name) for name in ("a", "b", "new", "open", "plain")], savings=savings)
    expected = {
        "?": "3 recommended changes were made and added 800 partition-seconds of stall per week (predicted saving: "
        "1,000). 4 recommended changes that were not made would save 4.2 partition-seconds of stall per week.",
        "group?name=a": "2 recommended changes were made and saved 1,200 partition-seconds of stall per week "
        "(predicted saving: 900).",
        "group?name=b": "1 recommended change was made and added 2,000 partition-seconds of stall per week "
        "(predicted saving: 100). 1 recommended change that was not made would save 4.2 partition-seconds of stall "
        "per week.",
        "group?name=new": "1 recommended change was made; the saving is measured after a week.",
    }
    for address, note in expected.items():
        assert f'<p class="note advice">{note}</p>' in get(pages, address)[2]
    for address in ("group?name=open", "group?name=plain"):
        assert "recommended change" not in get(pages, address)[2]


def test_the_page_of_a_group_shows_its_history():
    events = clustered()
    status, headers, page = get(site([full_view("g", running=None)], events), "group?name=g")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    for word in ("Owners over time", "What happened last", "Advice", "Moves from generation 7 to 8", "m2"):
        assert word in page
    assert page.partition('class="slim"')[0].count(' trigger"') == len(events)


def test_broken_copartitioning_is_reported():
    reported = "Co-partitioning is broken: 2 partition numbers have different owners in different topics."
    assert reported in get(site([full_view("g", copartition_breaks=2)]), "group?name=g")[2]
    assert "co-partitioned" not in get(site([full_view("g", copartition_breaks=0)]), "group?name=g")[2]


def test_the_page_of_a_group_without_a_history_shows_what_is_unknown():
    page = get(site([full_view("g", running=None)]), "group?name=g")[2]
    assert "earlier owners are unknown" in page
    assert "No rebalance has settled since the agent started" in page


def test_a_group_shows_that_its_topics_are_on_one_host():
    note = "all their partitions on one of 4 hosts."
    for number, noted in ((41, True), (40, False)):
        view = full_view("g", running=None, host_spread=HostSpread(80, number, 4, 0.5, 1e-9))
        _, _, page = get(site([view]), "group?name=g")
        assert (note in page) is noted
        assert f"{number} of 80" in page
    _, _, page = get(site([full_view("g", host_spread=None)]), "group?name=g")
    assert "topics on one host" not in page


def test_the_page_counts_the_hosts_of_the_setting():
    history, clock = EpisodeHistory(), FakeClock(NOW)
    for event in on_hosts(topics=20):
        history.on_event(event)
    api = GroupsApi(lambda: (full_view("g", running=None),), history, clock)
    for rules, found in (("", True), ("g=(application).*", False)):
        pages = GroupPages(api, history, clock, HostNames.parse(rules))
        assert ("20 of 20 topics have all their partitions on one of 4 hosts." in pages.group("g")) is found


@pytest.mark.parametrize("name", ["nobody", "", "%00", "..%2F.."])
def test_an_unknown_group_is_a_page_with_the_error(name):
    status, _, page = get(site([full_view("g")]), f"group?name={name}")
    assert status == 404
    assert "There is no such group" in page
    assert "did you mean" not in page


def test_the_page_of_an_unknown_group_names_a_similar_group():
    _, _, page = get(site([full_view("payments"), full_view("orders")]), "group?name=paymets")
    assert "or groups_deny excludes it; did you mean payments?" in page


@pytest.mark.parametrize("query", ["sort=x", "offset=-1", "match=" + "x" * 300, "%ff", "x" * 9_000])
def test_a_wrong_address_is_a_page_with_the_problem(query):
    status, headers, page = get(site(), f"?{query}")
    assert (status, headers["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert "Nothing to show" in page


def test_every_listed_group_has_a_page():
    for name in ("plain", "with/slash", "..", "a b&c=d#e?f%", "ü€𝄞", "'\"<>", "\ud800"):
        pages = site([full_view(name, running=None)])
        link = group_link(name)
        assert link.replace("&", "&amp;") in get(pages)[2]
        assert get(pages, link)[0] == 200


# Including line breaks, because a name may contain any character except lone surrogates.
NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40) | st.sampled_from(
    ["</script><script>x", "<!--", "]]>", '" onload="x', "' onload='x", "<svg/onload=x>", "&lt;", "\x00<b>"]
)


@settings(max_examples=40)
@given(NAMES, NAMES, NAMES)
def test_no_name_ever_becomes_markup(group, client, topic):
    def tags(group, client, topic):
        views = [full_view(group, members=(), running=None, assignor=client, topic_spread=((topic, 1.0),))]
        readiness = Readiness(["kafka"])
        readiness.unready("kafka", client or "x")
        pages = site(views, readiness=readiness)
        return [Tags(get(pages, address)[2]).seen for address in ("", group_link(group))]

    assert tags(group, client, topic) == tags("g", "c", "t")


@settings(max_examples=40)
@given(NAMES, NAMES)
def test_no_consumers_name_becomes_markup_on_a_sidecars_page(group, client):
    def tags(group, client):
        members = MemberMetrics(FakeClock(NOW))
        members.observe([member_event(group=group, client_id=client, partitions={client: (0, 1)})])
        return Tags(get(Site(Readiness(), consumers=members.consumers))[2]).seen

    assert tags(group, client) == tags("g", "c")


def test_a_sidecar_shows_its_consumers_stalled_ones_first():
    members = MemberMetrics(FakeClock(NOW))
    members.observe(
        [
            member_event(client_id="calm", process="p1"),
            member_event(client_id="still", process="p2", partitions={"refunds": (0,)}),
            member_event(Callback.REVOKED, 2, client_id="still", process="p2"),
        ]
    )
    page = get(Site(Readiness(), consumers=members.consumers))[2]
    assert page.index("<td>still</td>") < page.index("<td>calm</td>")
    assert f'data-since="{NOW - 250}">since 2023' in page
    assert "payments 0-2" in page
    assert get(Site(Readiness(), consumers=members.consumers), "group?name=g")[0] == 404


def test_a_sidecar_shows_that_a_process_has_probably_ended_and_when():
    clock = FakeClock(NOW)
    members = MemberMetrics(clock)
    members.observe([member_event(client_id="here", process="p1"), member_event(client_id="ended", process="p2")])
    members.alive("p2")
    clock.advance(OVERDUE_SECONDS * 1000 + 1)
    page = get(Site(Readiness(), consumers=members.consumers))[2]
    assert page.index("<td>here</td>") < page.index("<td>ended</td>")
    assert f"no report since {moment_to_second(NOW)}: the process has probably ended" in page
    assert "<dt>consumers</dt><dd>1</dd>" in page
    assert f'data-since="{NOW}">' in page  # no heartbeat is expected of the other one
    members.alive("p2")
    assert "probably ended" not in get(Site(Readiness(), consumers=members.consumers))[2]


def test_a_repeated_request_returns_the_page_only_if_it_changed():
    views = [full_view("g", running=None)]
    pages = site(views)
    _, headers, _ = get(pages)
    tag = headers["ETag"]
    assert get(pages, if_none_match=tag)[::2] == (304, "")
    views[0] = full_view("g", running=None, unassigned=3, version=8)
    status, headers, _ = get(pages, if_none_match=tag)
    assert status == 200
    assert headers["ETag"] != tag


def test_only_the_pages_own_files_may_run():
    _, headers, page = get(site())
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert {policy[f"{kind}-src"] for kind in ("script", "style", "img", "connect")} == {"'self'"}
    assert "style=" not in page
    assert page.count("<script") == page.count("<script src=") == 1
    assert get(site(), "healthz")[1]["Content-Security-Policy"] == "default-src 'none'"


def test_a_request_without_a_token_gets_only_a_request_for_it():
    pages, bearer = site([full_view("secret-group")]), Bearer(TOKEN)
    for address in ("", "group?name=secret-group"):
        status, headers, page = get(pages, address, bearer, accept="text/html,*/*")
        assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
        assert 'type="password"' in page
        assert "secret-group" not in page
        assert get(pages, address, bearer)[2].startswith("{")
        assert get(pages, address, bearer, authorization=f"Bearer {TOKEN}")[0] == 200
    assert {get(pages, path[1:], bearer)[0] for path in ASSETS} == {200}


def test_a_long_history_is_read_in_pieces():
    history, clock = EpisodeHistory(), FakeClock(NOW)

    class Slow(GroupsApi):
        def rebalance(self, name, identity):
            clock.advance(100)
            return super().rebalance(name, identity)

    for event in clustered():
        history.on_event(event)
    view = full_view("g", running=None)
    pages = Site(Readiness(), groups=GroupPages(Slow(lambda: (view,), history, clock), history, clock))
    assert "5 older rebalances are still being read" in get(pages, "group?name=g")[2]
    assert "2 older rebalances are still being read" in get(pages, "group?name=g")[2]
    assert "being read" not in get(pages, "group?name=g")[2]


@pytest.mark.no_cover  # many times over what others count
def test_the_largest_page_has_a_bound():
    names = [f"a-client-with-a-name-of-usual-length-{number:04}" for number in range(300)]
    topics = [f"a.topic.of.usual.length.{number:02}" for number in range(4)]

    def owned(place):
        return dict.fromkeys(topics, (2 * place, 2 * place + 1))

    events = [
        generation(
            number,
            [
                MemberSnapshot(name, None, name, "/h", tuple(topics), {}, owned((place + number) % 300))
                for place, name in enumerate(names)
            ],
            dict.fromkeys(topics, 600),
            at_ms=NOW + number,
        )
        for number in range(1, 51)
    ]
    members = tuple(MemberLoad(name, None, name, "h", owned(place)) for place, name in enumerate(names))
    pages = site([full_view("g", running=None, members=members)], events)
    reported = "being read"
    while "being read" in reported:
        reported = get(pages, "group?name=g")[2]
    assert "Members, the first 200 of 300" in reported
    assert len(reported) < 1_000_000
