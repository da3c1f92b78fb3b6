"""librdkafka's statistics: of what is in them, only why the consumer last gave up partitions is news.

The rest of their ``cgrp`` section is either in the callbacks already, and there in time (how many partitions, when), or
is a moment's state between two of them (``join_state``).
"""

from __future__ import annotations

import json
from collections.abc import Callable

from rebalance_agent.instrumentation.suppress import logger

__all__ = ["SECTION_MAX", "Statistics"]

SECTION_MAX = 4_096
"""Characters of the section that are looked at: it has about 200. The whole text grows by 750 with each partition."""

_START = '"cgrp":'
"""No name of a topic or client looks like it: a quote inside a text has a backslash before it."""


class Statistics:
    """Reads one consumer's statistics. ``unreadable`` counts those that were none, or other than expected."""

    def __init__(self, explained: Callable[[str], None]) -> None:
        """``explained`` is called with librdkafka's reason when there was a rebalance since the last time."""
        self.unreadable = 0
        self._explained = explained
        self._rebalances = 0

    def read(self, text: str) -> None:
        """Take in one text. Raises nothing."""
        try:
            start = text.rindex(_START) + len(_START)
            section, _end = json.JSONDecoder().raw_decode(text[start : start + SECTION_MAX].lstrip())
            rebalances, reason = int(section["rebalance_cnt"]), str(section["rebalance_reason"])
        except Exception as error:  # noqa: BLE001 - it can be wrong in any way
            self.unreadable += 1
            if self.unreadable == 1:
                logger.info("statistics are not used: %s: %s", type(error).__name__, str(error)[:200])
            return
        if rebalances > self._rebalances:
            self._explained(reason)
        self._rebalances = rebalances
