"""The wait of the end of a run for the ledger."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chaos.verdict import oracle
from rebalance_agent.audit.audit_report import AuditReport, Difference

CLEAN, PENDING = AuditReport(), AuditReport(pending=1)
WRONG = AuditReport()
WRONG.differ(Difference("g", 1, "has no event"))


class RunContext:
    """Time passes only during a wait."""

    def __init__(self):
        self.now, self.clock = 0.0, self
        self.kafka = SimpleNamespace(bootstrap_servers="")

    def monotonic(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds


@pytest.fixture
def settled(monkeypatch):
    """The last report and its time in seconds; the argument maps times in seconds to the report found from then on."""

    def run(reports):
        context = RunContext()
        monkeypatch.setattr(
            oracle, "balance", lambda *_, **__: reports[max(since for since in reports if since <= context.now)]
        )
        return oracle.settled(context, "", 0, {"g"}), context.now

    return run


def test_the_run_ends_as_soon_as_nothing_is_wrong_or_pending(settled):
    assert settled({0: CLEAN}) == (CLEAN, 0)
    report, at_s = settled({0: WRONG, 10: PENDING, 20: CLEAN})
    assert report is CLEAN
    assert 20 <= at_s <= 20 + oracle.LOOKS_S


@pytest.mark.parametrize(("left", "patience_s"), [(WRONG, oracle.BALANCED_S), (PENDING, oracle.SETTLED_S)])
def test_the_run_also_ends_with_remaining_wrong_or_pending_facts(settled, left, patience_s):
    report, at_s = settled({0: left})
    assert report is left
    assert patience_s < at_s <= patience_s + oracle.LOOKS_S
