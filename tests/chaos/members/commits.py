"""The offsets that a member commits by itself, instead of its client."""

from __future__ import annotations

from rebalance_agent.clock import SystemClock

COMMIT_S = 1.0


class Commits:
    """Offsets of processed records. ``commit_offsets`` commits those of a dict: partition -> next offset.

    ``automatic``: the client commits, and nothing is done here. ``commit_in_callback``: commits without waiting, for a
    client whose callbacks must not wait; by default ``commit_offsets``.
    """

    def __init__(self, automatic, commit_offsets, commit_in_callback=None):
        self._automatic, self._commit_offsets = automatic, commit_offsets
        self._commit_in_callback = commit_in_callback or commit_offsets
        self._clock, self._next, self._committed_at = SystemClock(), {}, 0.0

    def read(self, partition, offset):
        """Take a record that was processed."""
        self._next[partition] = offset + 1

    def give_up(self, partitions, word):
        """If ``word`` is ``revoked``, commit first; then drop the offsets of ``partitions``."""
        if word == "revoked":
            self._commit(self._commit_in_callback)
        for each in partitions:
            self._next.pop(each, None)

    def commit_when_due(self):
        """Commit once in `COMMIT_S`."""
        if self._clock.monotonic() - self._committed_at >= COMMIT_S:
            self.commit()

    def commit(self):
        """Commit all that was processed since the last time."""
        self._commit(self._commit_offsets)

    def _commit(self, commit_offsets):
        self._committed_at = self._clock.monotonic()
        if self._next and not self._automatic:
            commit_offsets(dict(self._next))
        self._next.clear()
