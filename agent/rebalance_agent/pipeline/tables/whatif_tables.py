"""Computes tables `whatif` and `fidelity` from generations: every group's history replayed with every strategy.

A group's history is divided into chunks of bounded size (`CHUNK_BYTES`), so that a history of any length fits into a
task. The end of a chunk is replayed again at the start of the next chunk, so that the next chunk begins with the
members' current assignment and the figures of chunks add up. A group with an event above `EVENT_CHARACTERS_MAX` is
refused.
``rebalance_agent.advice`` computes a chunk's result (*study*) once, for both tables and `recommendations`.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import add

import pandas as pd
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql.types import IntegerType, StringType

from rebalance_agent.advice import (
    Fidelity,
    FidelityLine,
    RecordedHistory,
    StrategyOutcome,
    WhatIf,
    fidelity,
    history_of,
    merged,
    what_if,
)
from rebalance_agent.advice.figures import Figures
from rebalance_agent.assignors import known_strategies
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, value_from_json, value_to_json
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.pipeline.study_reports import last_clients, read_clients, with_instrumented
from rebalance_agent.pipeline.table_schema import GROUP, Table, columns
from rebalance_agent.pipeline.tables.advice_schemas import FIDELITY, WHATIF
from rebalance_agent.pipeline.tables.generations import EVENT_CHARACTERS_MAX
from rebalance_agent.visible_names import visible

__all__ = [
    "CHUNK_BYTES",
    "NOT_IN_WORKER",
    "STUDIES",
    "Study",
    "fidelities",
    "read_studies",
    "rows_of_groups",
    "studies",
    "study_of",
    "whatif",
]

CHUNK_BYTES = 8 << 20
"""Maximum length of a chunk's JSON, in characters. Parsed, it takes about ten times as much memory in each worker."""

LEAD_SHARE = 8
"""The next chunk repeats the last 1/8 of a chunk, or its last generation: enough for an episode that is cut in two."""

OBJECTS_NEW_MAX = 100_000
"""Number of new objects that starts a run of a worker's garbage collector; with the default of 700, runs took 12 % of
the time."""

TASKS_PER_CORE = 4
"""Minimum number of tasks per core. Histories differ in length; with one task per core, the longest would delay all."""

NOT_IN_WORKER = "its package cannot be used in Spark's Python workers: install it also where the executors run"
"""Reason for refusing a strategy that the driver has and a worker does not have."""

_Asked = Mapping[str, RebalanceProtocol]
"""Name -> protocol of the strategies to replay, in order."""

_Row = Mapping[str, object]
_SHUFFLES = "spark.sql.shuffle.partitions"

STUDIES = columns(((StringType(), "cluster_id group"), (IntegerType(), "chunk"), (StringType(), "study")))
"""Schema of `studies`. ``study``: JSON of a `Study`; ``chunk``: number of the group's chunk, oldest first."""


@dataclass(frozen=True, slots=True)
class Study:
    """The results of one chunk of a group's history; if a chunk is not ``readable``, the whole group is refused."""

    whatif: WhatIf
    fidelity: Fidelity
    readable: bool = True


def studies(generations: DataFrame, events: DataFrame) -> DataFrame:
    """Return one row for each chunk of each group, with the schema `STUDIES`.

    ``generations`` and ``events`` are rows of these tables; leaders' ``assign`` events and members' events
    are used from ``events``.
    The strategies are those that this process has; a strategy that the workers do not have is refused.
    """
    asked = {name: strategy.protocol for name, strategy in known_strategies().items()}

    def study_rows(key: tuple[str, str, int], rows: pd.DataFrame) -> pd.DataFrame:
        return _study_rows(key, rows, asked)

    # Nearly all bytes are in the bodies, so the bodies are joined last and shuffled only once.
    bodies = generations.where(F.length("body") <= EVENT_CHARACTERS_MAX).select("event_id", "body")
    chunks = with_instrumented(_chunks(generations), generations, events)
    chunks = chunks.join(last_clients(generations, bodies, events), "event_id", "left")
    rows = chunks.join(bodies, "event_id", "left").select(
        *GROUP,
        "chunk",
        "leads",
        "event_id",
        # A refused group's bodies must not reach a task.
        F.when(F.col("largest") <= EVENT_CHARACTERS_MAX, F.col("body")).alias("body"),
        "largest",
        "instrumented",
        "generation",
        "clients",
    )
    return rows.repartition(_tasks(rows), *GROUP, "chunk").groupBy(*GROUP, "chunk").applyInPandas(study_rows, STUDIES)


def _tasks(rows: DataFrame) -> int:
    """Return the number of tasks: `TASKS_PER_CORE` for each core, or Spark's shuffle partitions if these are more."""
    spark = rows.sparkSession
    return max(TASKS_PER_CORE * spark.sparkContext.defaultParallelism, int(spark.conf.get(_SHUFFLES) or 0))


def _chunks(generations: DataFrame) -> DataFrame:
    """Return the ``chunk`` of each ``event_id``, and a second row if the next chunk repeats the event (``leads``).

    ``largest``: characters of JSON of the group's largest event.
    """
    whole = Window.partitionBy(*GROUP)
    # A total order, so that two runs give the same chunks.
    ordered = whole.orderBy("completed_at", "generation", "event_id")
    sized = generations.select(*GROUP, "event_id", "generation", "completed_at", F.length("body").alias("size"))
    end = F.sum("size").over(ordered.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    numbered = (
        sized.withColumns({"end": end, "largest": F.max("size").over(whole)})
        .withColumn("_piece", ((F.col("end") - F.col("size")) / CHUNK_BYTES).cast("int"))
        # A generation may be larger than a chunk; dense_rank keeps the chunk numbers consecutive.
        .withColumn("chunk", F.dense_rank().over(whole.orderBy("_piece")) - 1)
        .withColumns({"next": F.lead("chunk").over(ordered), "last": F.max("chunk").over(whole)})
    )
    late = F.col("end") > (F.col("_piece") + 1) * CHUNK_BYTES - CHUNK_BYTES // LEAD_SHARE
    leading = (late & (F.col("chunk") < F.col("last"))) | (F.col("next") > F.col("chunk"))
    known = F.col("largest") <= EVENT_CHARACTERS_MAX
    twice = known & leading & (F.col("size") <= CHUNK_BYTES)
    return (
        numbered.withColumn("leads", F.explode(F.when(twice, F.array(F.lit(0), F.lit(1))).otherwise(F.array(F.lit(0)))))
        .withColumns(
            {
                "chunk": F.when(known, F.col("chunk") + F.col("leads")).otherwise(0),
                "leads": F.col("leads") == 1,
            }
        )
        .select(*GROUP, "chunk", "leads", "event_id", "largest", "generation")
    )


def whatif(studied: DataFrame) -> DataFrame:
    """Return the rows of table ``whatif`` for rows of `studies`."""
    return rows_of_groups(studied, WHATIF, _whatif_rows)


def fidelities(studied: DataFrame) -> DataFrame:
    """Return the rows of table ``fidelity`` for rows of `studies`."""
    return rows_of_groups(studied, FIDELITY, lambda study: map(asdict, study.fidelity.lines))


def rows_of_groups(studied: DataFrame, table: Table, make: Callable[[Study], Iterable[_Row]]) -> DataFrame:
    """Return rows of ``table`` for rows of `studies`: the rows that ``make`` yields from each group's whole study."""

    def rows(chunks: pd.DataFrame) -> pd.DataFrame:
        group = {name: chunks[name].iloc[0] for name in GROUP}
        # Named columns are needed for a group without rows. With dtype object, integers in columns with nulls stay so.
        found = ({**_storable(row), **group} for row in make(read_studies(chunks)))
        return pd.DataFrame(found, columns=table.schema.names, dtype=object)

    return studied.groupBy(*GROUP).applyInPandas(rows, table.schema).select(*table.schema.names)


def _storable(row: _Row) -> _Row:
    """Escape lone surrogates, which the JSON of names can contain and Arrow's UTF-8 cannot."""
    return {name: visible(value) if isinstance(value, str) else value for name, value in row.items()}


def read_studies(rows: pd.DataFrame) -> Study:
    """Merge the studies of one group's chunks into one study."""
    ordered = rows.sort_values("chunk")
    read = [value_from_json(Study, json.loads(text)) for text in ordered["study"]]
    if (refused := next((study for study in read if not study.readable), None)) is not None:
        return refused
    lines: dict[tuple[str, str], list[FidelityLine]] = {}
    for study in read:
        for line in study.fidelity.lines:
            lines.setdefault((line.assignor, line.implementation), []).append(line)
    return Study(
        merged([study.whatif for study in read]), Fidelity(tuple(reduce(add, group) for group in lines.values()))
    )


def _study_rows(key: tuple[str, str, int], rows: pd.DataFrame, asked: _Asked) -> pd.DataFrame:
    gc.set_threshold(OBJECTS_NEW_MAX)
    cluster_id, group, chunk = key
    study = json.dumps(value_to_json(study_of(cluster_id, group, rows, asked)))
    return pd.DataFrame({"cluster_id": [cluster_id], "group": [group], "chunk": [chunk], "study": [study]})


def study_of(cluster_id: str, group: str, rows: pd.DataFrame, asked: _Asked | None = None) -> Study:
    """Return the study of one chunk; ``rows`` are its generations as `studies` selects them, in any order.

    Column ``clients`` may be missing. ``asked``: the strategies to replay, by default all that this process can load.
    """
    if asked is None:
        asked = {name: strategy.protocol for name, strategy in known_strategies().items()}
    if rows["body"].isna().any():
        size = int(rows["largest"].iloc[0])
        reason = f"too large: a generation of {size} characters of JSON, more than {EVENT_CHARACTERS_MAX}"
        return _refused(cluster_id, group, reason, asked)
    events = (event_from_json(json.loads(body)) for body in rows["body"])
    try:
        history = history_of(events, frozenset(rows["event_id"][rows["leads"]]))
    except InvalidInputError as error:
        # Each part of an event is within the bounds, but the joined event may not be.
        return _refused(cluster_id, group, f"too large: a generation that cannot be read: {error}", asked)
    history = replace(history, clients=read_clients(rows["clients"].dropna()) if "clients" in rows else {})
    instrumented = frozenset(int(number) for number in rows["generation"][rows["instrumented"]])
    return Study(_what_if(history, asked), fidelity(history, instrumented))


def _what_if(history: RecordedHistory, asked: _Asked) -> WhatIf:
    """Return the what-if with an outcome for every strategy in ``asked``, in this order."""
    here = known_strategies()
    result = what_if(history, [name for name in asked if name in here])
    found = {outcome.strategy: outcome for outcome in result.outcomes}
    outcomes = [
        found.get(name) or StrategyOutcome(name, protocol, refused=NOT_IN_WORKER) for name, protocol in asked.items()
    ]
    return replace(result, outcomes=tuple(outcomes))


def _refused(cluster_id: str, group: str, reason: str, asked: _Asked) -> Study:
    """Return a study that refuses the group for every strategy."""
    refused = tuple(StrategyOutcome(name, protocol, refused=reason) for name, protocol in asked.items())
    result = WhatIf(cluster_id, group, None, RebalanceProtocol.UNKNOWN, Figures(), Figures(), refused)
    return Study(result, Fidelity(), readable=False)


def _whatif_rows(study: Study) -> Iterator[_Row]:
    result = study.whatif
    recorded = {f"recorded_{name}": value for name, value in _columns(result.recorded).items() if name != "needed"}
    for outcome in result.outcomes:
        columns = _columns(outcome.figures if outcome.refused is None else Figures())
        yield {
            "strategy": outcome.strategy,
            "protocol": outcome.protocol.value,
            "refused": outcome.refused,
            "generations": outcome.figures.generations,
            **columns,
            "recorded_assignor": result.assignor,
            "recorded_protocol": result.protocol.value,
            **recorded,
            "modelled_stalled_partition_seconds": _stalled(result.predicted),
        }


def _columns(figures: Figures) -> dict[str, object]:
    known = figures.generations > 0
    return {
        "moved": figures.moved if known else None,
        "needed": figures.moved - figures.excess if known else None,
        "excess": figures.excess if known else None,
        "skew_mean": figures.skew_mean,
        "skew_max": figures.skew_max if known else None,
        "imbalance_mean": figures.imbalance_mean,
        "stalled_partition_seconds": _stalled(figures),
    }


def _stalled(figures: Figures) -> float | None:
    return figures.stalled_partition_seconds if figures.stalls else None
