"""The committed rules on series of days: the slowest faults, and fleets without faults.

``REBALANCE_AGENT_GOLDEN=write`` writes the tables of ``docs/alert-replays.md``, then ``make alerts``.
"""

from __future__ import annotations

import pytest
from alerts.values import load

from support.charts.alertmanager import needs_alertmanager
from support.charts.promtool import PROMTOOL
from support.replay.agent_faults import healthy
from support.replay.fault import LATE, labelled
from support.replay.faults import FAULTS
from support.replay.firing import firing
from support.replay.incidents import notified
from support.replay.tables import checked, fault_row

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found"),
]

DAY = 86_400
SEVERITY = {name: values["severity"] for name, values in load().alerts.items()}
LONG = [fault for fault in FAULTS if fault.until > 4 * 3600]
"""The others are in ``tests/alerts/test_replay.py``."""


def replay(fault, folder):
    """The spans of a fault that takes hours; of one that takes days, scrapes are 30 s apart."""
    folder.mkdir()
    scrape = 15 if fault.until < DAY else 30
    series = fault.in_cluster(fault.until, scrape) | labelled(healthy(fault.until, scrape), "healthy")
    spans = firing(series, folder, until=fault.until, scrape=scrape, evaluation=30)
    return [span for span in spans if span["cluster"] == fault.alert]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay")
    return {fault.alert: replay(fault, folder / fault.alert) for fault in LONG}


@pytest.mark.parametrize("fault", LONG, ids=lambda fault: fault.alert)
def test_a_fault_of_hours_fires_in_time_and_resolves(fault, replayed):
    (span,) = (span for span in replayed[fault.alert] if span.alert == fault.alert)
    assert fault.due <= span.began <= fault.due + fault.waits + LATE
    assert span.ended <= fault.over + fault.lingers + LATE


@needs_alertmanager
def test_a_fault_of_hours_causes_one_ticket(replayed, tmp_path):
    sent = notified(replayed, tmp_path)
    for name, moments in sent.items():
        assert max(sum(receiver != "nobody" for receiver, _ in moment) for moment in moments) == 1, name
    checked("long_faults", [fault_row(fault, replayed[fault.alert], sent[fault.alert]) for fault in LONG])
