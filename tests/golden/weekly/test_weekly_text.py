"""The exact text of the weekly page: people paste it into mails and chats.

``REBALANCE_AGENT_GOLDEN=write pytest tests/golden`` writes the file.
"""

import os
from pathlib import Path

from rebalance_agent.pipeline.weekly.week_settings import WeekSettings, member_cost
from rebalance_agent.pipeline.weekly.weekly_summary import summarize
from rebalance_agent.pipeline.weekly.weekly_text import text
from support.pipeline.weeks import sample

GOLDEN = Path(__file__).with_name("weekly.txt")
PAGE = Path(__file__).parents[3] / "docs" / "weekly.md"


def test_the_text_is_the_golden_one():
    shown = text(summarize(sample(), WeekSettings(member_cost=member_cost("0.12EUR"))))
    if os.environ.get("REBALANCE_AGENT_GOLDEN") == "write":
        GOLDEN.write_text(shown, encoding="utf-8")
    assert shown == GOLDEN.read_text(encoding="utf-8")
    assert f"```text\n{shown}```\n" in PAGE.read_text(encoding="utf-8"), "the page shows another text: copy it"
