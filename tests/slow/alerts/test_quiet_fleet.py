"""The committed rules on fleets in which nothing fails: groups are deployed, scaled and moved to other nodes.

No alert pages for that. Faults that are planted among them still fire in time, each as one notification. The fleets
have the sizes of ``docs/alert-replays.md``, or those that ``REBALANCE_AGENT_FLEET`` names, for example
``day=34,week=50`` groups of each kind. ``REBALANCE_AGENT_GOLDEN=write`` writes ``alerts/replays/quiet_*.json``, and
then ``make alerts`` the page. A week of 50 groups of each kind takes two hours on one core: with
``REBALANCE_AGENT_FLEET_FOLDER=FOLDER``, an interrupted run continues if it is started again with the same code.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from alerts.values import load

from support.charts.alertmanager import needs_alertmanager
from support.charts.promtool import PROMTOOL
from support.replay.fault import LATE
from support.replay.fleet.quiet import QuietFleet, replayed
from support.replay.fleet.table import fleet_rows, quiet
from support.replay.incidents import notified, sent_together
from support.replay.tables import checked, written

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found"),
]

ASKED = dict(each.split("=") for each in os.environ.get("REBALANCE_AGENT_FLEET", "").split(",") if each)
KEPT = os.environ.get("REBALANCE_AGENT_FLEET_FOLDER")
SEVERITY = {name: values["severity"] for name, values in load().alerts.items()}


def groups(name):
    """The number of groups of each kind: as asked for, or as in the table."""
    return int(ASKED.get(name) or written(f"quiet_{name}")[0]["groups"])


@dataclass(frozen=True)
class Replay:
    name: str
    fleet: QuietFleet
    spans: list


@pytest.fixture(scope="module", params=["day", "week"])
def replay(request, tmp_path_factory):
    folder = Path(KEPT) if KEPT else tmp_path_factory.mktemp("fleet")
    name = request.param
    days, scrape = (1, 30) if name == "day" else (7, 60)
    fleet = QuietFleet(days, groups(name), scrape, faulty=name == "day")
    return Replay(name, fleet, replayed(fleet, folder / name))


def test_normal_life_causes_no_page(replay):
    assert [span for span in quiet(replay.spans) if SEVERITY[span.alert] == "critical"] == []


def test_deploys_are_no_flapping_and_no_rebalances_for_nothing(replay):
    fired = {span.alert for span in quiet(replay.spans)}
    assert not fired & {"KafkaGroupMemberFlapping", "KafkaGroupRebalanceNoop"}


def test_planted_faults_fire_within_their_wait_and_a_minute_once(replay):
    for planted in replay.fleet.planted:
        fault = planted.fault
        own = [span for span in planted.spans(replay.spans) if span.alert == fault.alert]
        assert len(own) == 1, (fault.alert, own)
        assert fault.due <= own[0].began <= fault.due + fault.waits + LATE, fault.alert
        assert own[0].ended <= fault.over + fault.lingers + LATE, fault.alert


@needs_alertmanager
def test_a_group_has_one_notification_at_a_time_and_the_table_is_current(replay, tmp_path):
    groups = {planted.group: planted.spans(replay.spans) for planted in replay.fleet.planted}
    for span in quiet(replay.spans):
        groups.setdefault(span["consumergroup"], []).append(span)
    sent = notified(groups, tmp_path)
    assert sent_together(sent) == {}
    if not ASKED or os.environ.get("REBALANCE_AGENT_GOLDEN") == "write":
        checked(f"quiet_{replay.name}", fleet_rows(replay.fleet, replay.spans, sent))
