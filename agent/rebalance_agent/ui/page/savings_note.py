"""Writes what recommended changes save, as a note for the list of groups and for a group's page."""

from __future__ import annotations

from rebalance_agent.model.baseline import AdviceSavings
from rebalance_agent.ui.page.page_frame import note
from rebalance_agent.ui.words import amount, plural

__all__ = ["savings_note"]

_UNIT = "partition-seconds of stall per week"


def savings_note(savings: AdviceSavings | None) -> str:
    """Return a note on the changes that were made, and on those that were not; an empty string without any."""
    text = " ".join(filter(None, (_made(savings), _open(savings)))) if savings else ""
    return note(text, "advice") if text else ""


def _made(savings: AdviceSavings) -> str:
    if not savings.taken:
        return ""
    if not savings.measured:
        return f"{_were(savings.taken)} made; the saving is measured after a week."
    verb = "added" if savings.realised < 0 else "saved"
    predicted = f"(predicted saving: {amount(savings.predicted)})"
    return f"{_were(savings.measured)} made and {verb} {amount(abs(savings.realised))} {_UNIT} {predicted}."


def _open(savings: AdviceSavings) -> str:
    if not savings.open or not savings.open_predicted:
        return ""
    were = "was" if savings.open == 1 else "were"
    changes = plural(savings.open, "recommended change")
    return f"{changes} that {were} not made would save {amount(savings.open_predicted)} {_UNIT}."


def _were(number: int) -> str:
    return f"{plural(number, 'recommended change')} {'was' if number == 1 else 'were'}"
