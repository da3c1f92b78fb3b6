"""The output of `explain` for one group's events, as one text."""

from rebalance_agent.advice import advise, history_of
from rebalance_agent.ui.sentences.explanation import paragraphs, whole_rebalances


def explain(events, last=3):
    """The ``last`` rebalances in ``events`` (in order), oldest first, with advice."""
    return "\n\n".join(paragraphs(*whole_rebalances(events, last), last, advise(history_of(events)))) + "\n"
