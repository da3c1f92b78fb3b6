"""Computes table `recommendations` from studies: each row is the result of `advice.recommend` for a group."""

from __future__ import annotations

from dataclasses import asdict

from pyspark.sql import DataFrame

from rebalance_agent.advice import recommend
from rebalance_agent.pipeline.tables.advice_schemas import RECOMMENDATIONS
from rebalance_agent.pipeline.tables.whatif_tables import rows_of_groups

__all__ = ["recommendations"]


def recommendations(studied: DataFrame) -> DataFrame:
    """Return the rows of table ``recommendations`` for rows of `whatif_tables.studies`."""
    return rows_of_groups(studied, RECOMMENDATIONS, lambda study: [asdict(recommend(study.whatif))])
