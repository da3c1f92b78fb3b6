"""The committed rules on replayed series: planted faults, two bad groups, normal deploys.

Each fault fires its alert in time and causes one page or ticket; a normal deploy causes neither.
``docs/alert-replays.md`` has their results: ``REBALANCE_AGENT_GOLDEN=write pytest tests/alerts/test_replay.py`` writes
``alerts/replays/*.json``, and ``make alerts`` the page.
"""

from __future__ import annotations

from itertools import chain

import pytest
from alerts.pack import ALERTS
from alerts.values import load, seconds

from support.charts.alertmanager import needs_alertmanager
from support.charts.promtool import PROMTOOL
from support.replay.agent_faults import healthy
from support.replay.bad_groups import killed, slow_to_revoke
from support.replay.deploys import DEPLOYS
from support.replay.fault import FROM, LATE, labelled
from support.replay.faults import FAULTS
from support.replay.firing import firing
from support.replay.incidents import notified, sent_together
from support.replay.tables import BAD_GROUPS, checked, fault_row, group_row

pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found")

SHORT, LONG = 4800, 4 * 3600
"""Maximum duration of faults in seconds, each replayed with others of equal duration; longer ones are in
``tests/slow``."""

EVALUATED = round(seconds(str(load().shared["interval"])))
BAD = {"killed": killed, "slow": slow_to_revoke}
SEVERITY = {name: values["severity"] for name, values in load().alerts.items()}
QUICK = [fault for fault in FAULTS if fault.until <= LONG]


def replay(faults, others, folder, *, scrape):
    """The spans by cluster; each fault has its own cluster."""
    until = max([fault.until for fault in faults] + [SHORT] * bool(others))
    series = dict(chain.from_iterable(fault.in_cluster(until, scrape).items() for fault in faults))
    series |= others | labelled(healthy(until, scrape), "healthy")
    found = {}
    for span in firing(series, folder, until=until, scrape=scrape, evaluation=EVALUATED):
        found.setdefault(span["cluster"], []).append(span)
    return found


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """Cluster -> spans."""
    folder = tmp_path_factory.mktemp("replay")
    others = {}
    for name, series in BAD.items():
        others |= labelled(series(SHORT, 15), name)
    for name, script in DEPLOYS.items():
        others |= labelled(script.series(SHORT, 15), f"deploy: {name}")
    short = [fault for fault in QUICK if fault.until <= SHORT]
    long = [fault for fault in QUICK if fault.until > SHORT]
    return replay(short, others, folder, scrape=15) | replay(long, {}, folder, scrape=30)


def test_each_alert_has_a_fault():
    assert [fault.alert for fault in FAULTS] == [alert.name for alert in ALERTS]


def own(fault, replayed):
    return [span for span in replayed.get(fault.alert, ()) if span.alert == fault.alert]


@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: fault.alert)
def test_a_fault_fires_within_its_wait_and_a_minute_once(fault, replayed):
    (span,) = own(fault, replayed)
    assert fault.due <= span.began <= fault.due + fault.waits + LATE


@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: fault.alert)
def test_a_fault_resolves_after_its_end_and_its_window(fault, replayed):
    (span,) = own(fault, replayed)
    assert span.ended <= fault.over + fault.lingers + LATE


def test_no_alert_fires_before_a_fault(replayed):
    early = [span for spans in replayed.values() for span in spans if span.began < FROM]
    assert early == []


@pytest.mark.parametrize("name", DEPLOYS)
def test_a_normal_deploy_causes_no_page_and_no_ticket(name, replayed):
    fired = {span.alert for span in replayed.get(f"deploy: {name}", ())}
    assert {alert for alert in fired if SEVERITY[alert] != "info"} == set()


def test_alerts_on_bad_groups_name_their_problems(replayed):
    killed, slow = ({span.alert for span in replayed[name]} for name in BAD)
    assert {"KafkaGroupRebalanceStorm", "KafkaGroupMemberFlapping"} <= killed
    assert {"KafkaGroupRevokeCallbackSlow", "KafkaGroupPartitionsLost", "KafkaGroupStallBudgetBurnFast"} <= slow


def incidents(replayed):
    """What fires in each incident, by its name."""
    return {name: spans for name, spans in replayed.items() if not name.startswith("deploy: ")}


@pytest.fixture(scope="module")
def sent(replayed, tmp_path_factory):
    return notified(incidents(replayed), tmp_path_factory.mktemp("alertmanager"))


@needs_alertmanager
def test_one_incident_is_one_page_or_one_ticket_at_each_moment(sent):
    assert sent_together(sent) == {}


def test_a_page_is_not_sent_again_while_its_incident_goes_on(replayed):
    again = {
        (name, span.alert)
        for name, spans in incidents(replayed).items()
        for span in spans
        if SEVERITY[span.alert] == "critical" and sum(each.alert == span.alert for each in spans) > 1
    }
    assert again == set()


@needs_alertmanager
def test_the_tables_of_the_documentation_are_current(replayed, sent):
    rows = [fault_row(fault, replayed[fault.alert], sent[fault.alert]) for fault in QUICK]
    bad = [group_row(name, replayed[name], sent[name]) for name in BAD_GROUPS]
    checked("faults", rows)
    checked("bad_groups", bad)
