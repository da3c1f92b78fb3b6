"""Reads the reason of the last rebalance from librdkafka's statistics.

The rest of their ``cgrp`` section is reported by callbacks at the right time (which partitions, when), or is a
momentary state between two callbacks (``join_state``).
"""

from __future__ import annotations

import json
from collections.abc import Callable

from rebalance_agent.instrumentation.suppress import logger

__all__ = ["SECTION_MAX", "Statistics"]

SECTION_MAX = 4_096
"""Maximum length of the section in characters; it has about 200. The whole text grows by 750 per partition."""

_START = '"cgrp":'
"""Start of the section. It cannot be part of a topic's or client's name, where quotes are escaped."""


class Statistics:
    """Reads the statistics of one consumer. ``unreadable`` counts texts that could not be parsed."""

    def __init__(self, explained: Callable[[str], None]) -> None:
        """``explained`` is called with librdkafka's reason if there was a rebalance since the last text."""
        self.unreadable = 0
        self._explained = explained
        self._rebalances = 0

    def read(self, text: str) -> None:
        """Parse one statistics text. Raises nothing."""
        try:
            start = text.rindex(_START) + len(_START)
            section, _end = json.JSONDecoder().raw_decode(text[start : start + SECTION_MAX].lstrip())
            rebalances, reason = int(section["rebalance_cnt"]), str(section["rebalance_reason"])
        except Exception as error:  # noqa: BLE001 - the text may be malformed in any way
            self.unreadable += 1
            if self.unreadable == 1:
                logger.info("statistics are not used: %s: %s", type(error).__name__, str(error)[:200])
            return
        if rebalances > self._rebalances:
            self._explained(reason)
        self._rebalances = rebalances
