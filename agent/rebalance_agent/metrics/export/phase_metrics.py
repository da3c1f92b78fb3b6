"""Counts the phases of rebalances in histograms over all groups."""

from __future__ import annotations

from rebalance_agent.metrics import phase_rows as rows
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.instruments import Instruments
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.model.events import Event, GenerationEvent

__all__ = ["PhaseMetrics"]


class PhaseMetrics:
    """Counts the known phases of each generation once. Thread-safe."""

    def __init__(self, text: TextFormat | None = None) -> None:
        """Start with empty histograms."""
        self._instruments = Instruments(rows.PHASE_ROWS, text)

    def on_event(self, event: Event) -> None:
        """Count a generation event; its later revisions (``revision`` above 0) and other events are ignored."""
        if not isinstance(event, GenerationEvent) or event.revision:
            return
        phases = (
            (rows.JOIN, event.join_seconds),
            (rows.SYNC, event.sync_seconds),
            (rows.ASSIGNOR_WAIT, event.assignor_wait_seconds),
            (rows.RECONCILE, event.reconcile_seconds),
        )
        for row, seconds in phases:
            if seconds is not None:
                self._instruments.histogram(row).observe(seconds)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return metric families with their headers."""
        return self._instruments.text(dialect)
