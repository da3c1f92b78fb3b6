"""The page's thresholds are those of the alerts, whose files it cannot read at run time."""

from __future__ import annotations

import re
from pathlib import Path

from alerts.values import load, seconds

from rebalance_agent.advice import worth
from rebalance_agent.pipeline.weekly import week_settings, weekly_rows
from rebalance_agent.tracking.patterns.group_stalls import StallLimits
from rebalance_agent.ui.page import trouble
from rebalance_agent.ui.sentences import storms
from rebalance_agent.ui.sentences.empty_text import EMPTY_SECONDS_MAX, EMPTY_SECONDS_MIN
from rebalance_agent.ui.words import rounded_duration

ALERTS = load().alerts
STALL = StallLimits()
"""The defaults of the setting `stall_limits`, by which the tracker counts the stalls for these two alerts."""

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "page.md"


def test_the_page_and_the_alerts_have_the_same_numbers():
    storm, skewed = ALERTS["KafkaGroupRebalanceStorm"], ALERTS["KafkaGroupAssignmentSkewed"]
    assert ALERTS["KafkaGroupRebalanceSlow"]["seconds"] == trouble.LONG_SECONDS_MIN
    stuck = ALERTS["KafkaGroupRebalanceStuck"]
    assert (stuck["margin_seconds"], stuck["timeout_seconds"]) == (trouble.OVERDUE_SECONDS_MIN, trouble.TIMEOUT_SECONDS)
    assert ALERTS["KafkaGroupStallAboveBaseline"]["floor_seconds"] == trouble.STALLED_SECONDS_MIN
    assert seconds(storm["window"]) == storms.STORM_SECONDS
    assert (storm["per_member"], storm["rebalances"]) == (storms.STORM_PER_MEMBER, storms.STORM_MIN)
    assert (skewed["ratio"], skewed["members"]) == (trouble.SKEW_RATIO_MAX, trouble.SKEW_MEMBERS_MAX)
    assert ALERTS["KafkaGroupTopicsOnOneHost"]["ratio"] == trouble.ONE_HOST_RATIO_MAX == worth.CLUSTERED_MAX
    assert seconds(ALERTS["KafkaGroupPartitionsLost"]["window"]) == storms.STORM_SECONDS
    empty = ALERTS["KafkaGroupEmpty"]
    assert (empty["seconds"], empty["abandoned_seconds"]) == (EMPTY_SECONDS_MIN, EMPTY_SECONDS_MAX)
    assert ALERTS["KafkaGroupPartitionStuck"]["seconds"] == trouble.STUCK_SECONDS_MIN
    for of_any in ("KafkaGroupPartitionsLost", "KafkaGroupPartitionsUnassigned"):
        assert ALERTS[of_any]["partitions"] == 1


def test_the_weekly_page_and_the_alerts_have_the_same_numbers():
    assert ALERTS["KafkaGroupAssignmentSkewed"]["ratio"] == weekly_rows.SKEW_NEAR
    assert load().shared["slo"] == week_settings.SLO


def test_the_readme_has_the_number_of_alerts():
    assert re.findall(r"(\d+) alerts", (ROOT / "README.md").read_text(encoding="utf-8")) == [str(len(ALERTS))]


def test_the_documentation_of_the_page_has_the_same_numbers():
    text = PAGE.read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| ((?:critical|warning): [^|]+?) \| (.+?) \|$", text, re.MULTILINE))
    long = rounded_duration(trouble.LONG_SECONDS_MIN).replace("\N{NO-BREAK SPACE}", " ")
    assert f"warning: rebalancing for more than {long}" in shown
    overdue = shown["critical: rebalancing for longer than the members' rebalance timeout"]
    assert f"{trouble.OVERDUE_SECONDS_MIN:.0f} s" in overdue
    assert f"{trouble.TIMEOUT_SECONDS:.0f} s" in overdue
    for limit, seconds_min in (("critical", STALL.critical_seconds), ("warning", STALL.warning_seconds)):
        said = shown[f"{limit}: group stalled for more than {seconds_min:.0f} s"]
        assert f"`KafkaGroupStalled{'Long' if limit == 'critical' else ''}`" in said
    assert f"{EMPTY_SECONDS_MIN / 60:.0f} minutes to a day" in shown["critical: Empty since ..."]
    assert f"{trouble.STUCK_SECONDS_MIN / 60:.0f} minutes" in shown["critical: ... makes no progress"]
    for said in ("warning: storm", "warning: members failed in ... rebalances"):
        assert f"{storms.STORM_SECONDS / 60:.0f} minutes" in shown[said]
    assert f"{trouble.STALLED_SECONDS_MIN:.0f} s or more" in shown["warning: stalled for ..."]
    assert (
        f"{trouble.ONE_HOST_RATIO_MAX:.0%}".replace("%", " %")
        in shown["warning: ... topics have all their partitions on one of ... hosts"]
    )
    assert f"above {trouble.SKEW_RATIO_MAX}" in shown["warning: the most loaded member has ... its share"]
