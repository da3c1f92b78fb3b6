"""Computes table `recommendations` from studies: what `advice.recommend` recommends for each group."""

from __future__ import annotations

import pandas as pd
from pyspark.sql import DataFrame

from rebalance_agent.advice import recommend
from rebalance_agent.pipeline.tables.schemas import GROUP, RECOMMENDATIONS
from rebalance_agent.pipeline.tables.whatif_tables import read_studies

__all__ = ["recommendations"]

SCHEMA = RECOMMENDATIONS.schema


def recommendations(studied: DataFrame) -> DataFrame:
    """Return the rows of table ``recommendations`` for rows of `whatif_tables.studies`."""
    return studied.groupBy(*GROUP).applyInPandas(_row, SCHEMA).select(*SCHEMA.names)


def _row(studied: pd.DataFrame) -> pd.DataFrame:
    advice = recommend(read_studies(studied).whatif)
    row = {
        "cluster_id": studied["cluster_id"].iloc[0],
        "group": studied["group"].iloc[0],
        "static_membership": advice.static_membership,
        "sentence": advice.sentence,
        "strategy": advice.strategy,
        "protocol": None if advice.protocol is None else advice.protocol.value,
        "saved_partition_seconds": advice.saved_partition_seconds,
        "saved_moves": advice.saved_moves,
    }
    return pd.DataFrame([row], dtype=object)
