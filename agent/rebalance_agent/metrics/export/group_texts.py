"""Stores the rendered texts of groups from scrape to scrape, up to a maximum number of bytes."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

__all__ = ["GroupTexts", "KeptTexts", "Series"]

Series = frozenset[tuple[str, tuple[str, ...]]]
"""Counters and histograms of a group: metric names, and the values of the labels that follow the group's label."""

READMITTED_UP_TO = 0.95
"""Left-out groups return only up to this share of the bound: at the bound, each change would remove or restore some."""


NO_EDITION = (-1, -1, -1)
"""An edition number that no view has."""


class GroupTexts(NamedTuple):
    """A group's texts in the order of `GROUP_ROWS`, without the rows that time always changes.

    ``edition``: the edition of the group's view. ``until_ms``: when time changes other rows as well; 0 means now.
    ``exemplified``: (index of the row, text with exemplars) for OpenMetrics. ``folded``, ``shortened``: numbers of
    label sets and of names. ``size``: bytes of all lines. ``texts`` is empty if the group is left out. ``counted``:
    the group's counters and histograms. ``scraped``: counters and histograms that a scrape has read; None before the
    first scrape. The fields are tuples instead of dicts, because there are thousands of groups.
    """

    edition: tuple[int, int, int]
    until_ms: int
    texts: tuple[bytes, ...]
    exemplified: tuple[tuple[int, bytes], ...]
    folded: int
    shortened: int
    size: int
    counted: Series = frozenset()
    scraped: Series | None = None


class KeptTexts:
    """Texts by group, of at most ``bytes_max`` bytes in all. Thread-safe.

    If texts would exceed this limit, the largest groups are left out, because a group that was made to fill the page is
    the largest. For a left-out group, only the numbers are kept until the group fits again.
    """

    def __init__(self, bytes_max: int) -> None:
        """Start without texts."""
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._groups: dict[str, GroupTexts] = {}
        self._left_out: set[str] = set()
        self._bytes = 0

    def __len__(self) -> int:
        """Return the number of groups, including left-out groups."""
        return len(self._groups)

    def get(self, group: str) -> GroupTexts | None:
        """Return the group's texts; None if they were never written."""
        return self._groups.get(group)

    @property
    def left_out(self) -> int:
        """The number of groups that are left out because their texts do not fit into the limit."""
        return len(self._left_out)

    def total(self, number: Callable[[GroupTexts], int]) -> int:
        """Return the sum of ``number`` over all groups."""
        with self._lock:
            return sum(map(number, self._groups.values()))

    def shown(self, groups: Collection[str]) -> Mapping[str, GroupTexts]:
        """Return the ``groups`` that have texts, sorted by name."""
        with self._lock:
            kept = self._groups
            return {group: kept[group] for group in sorted(groups) if group in kept and kept[group].texts}

    def keep(self, group: str, written: GroupTexts) -> None:
        """Replace the group's old texts with new texts."""
        with self._lock:
            self._drop(group)
            self._groups[group] = written
            self._bytes += written.size
            if self._bytes <= self._bytes_max:
                return
            # A heap is cheaper than sorting, because removing one or two groups is nearly always enough.
            sizes = [(-kept.size, each) for each, kept in self._groups.items() if kept.texts]
            heapq.heapify(sizes)
            while self._bytes > self._bytes_max:
                _, each = heapq.heappop(sizes)
                self._bytes -= self._groups[each].size
                self._groups[each] = self._groups[each]._replace(texts=(), exemplified=())
                self._left_out.add(each)

    def mark_scraped(self, group: str, cached: GroupTexts) -> bool:
        """Record the texts of a scrape; return whether the texts have series that are 0 only in this scrape.

        If there are such series, the texts must be written again.
        """
        again = cached.scraped is not None
        with self._lock:
            if self._groups.get(group) is cached:
                edition = NO_EDITION if again else cached.edition
                self._groups[group] = cached._replace(edition=edition, scraped=cached.counted)
        return again

    def forget(self, others_than: Collection[str]) -> None:
        """Drop all groups except ``others_than``."""
        with self._lock:
            for group in self._groups.keys() - set(others_than):
                self._drop(group)

    def readmit(self) -> bool:
        """Drop left-out groups that fit again, so that they are written again; return whether any was dropped."""
        if not self._left_out:
            return False
        with self._lock:
            total, any_fits = self._bytes, False
            for size, group in sorted((self._groups[group].size, group) for group in self._left_out):
                total += size
                if total > self._bytes_max * READMITTED_UP_TO:
                    break
                self._drop(group)
                any_fits = True
            return any_fits

    def _drop(self, group: str) -> None:
        kept = self._groups.pop(group, None)
        self._left_out.discard(group)
        if kept and kept.texts:
            self._bytes -= kept.size
