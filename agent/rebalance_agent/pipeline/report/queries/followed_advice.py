"""Reads the recommended changes and their states, as of the last run of ``whatif``."""

from __future__ import annotations

import dataclasses

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.recommendations.advice_state import AdviceState
from rebalance_agent.pipeline.recommendations.advice_words import AdviceRow
from rebalance_agent.pipeline.recommendations.given_advice import AdviceKind
from rebalance_agent.pipeline.report.queries.report_columns import collected

__all__ = ["ADVICE_MAX", "followed_advice"]

ADVICE_MAX = 20_000
"""Maximum number of recommended changes that are read, those with the largest savings first."""

_NAMES = tuple(field.name for field in dataclasses.fields(AdviceRow))


def followed_advice(advice: DataFrame) -> tuple[AdviceRow, ...]:
    """Return the rows of table ``advice``, except advice that was withdrawn before the group took it."""
    size = F.coalesce("realised", "predicted", F.lit(0.0))
    rows = advice.where(F.col("state") != AdviceState.WITHDRAWN.value).orderBy(size.desc(), "advice_id")
    return tuple(
        AdviceRow(cluster_id, group, AdviceKind(kind), strategy, AdviceState(state), *rest)
        for cluster_id, group, kind, strategy, state, *rest in collected(rows.limit(ADVICE_MAX), *_NAMES)
    )
