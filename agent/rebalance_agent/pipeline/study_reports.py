"""Adds to the generations of a study what leaders and members reported: their decisions, and their clients."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.advice.replay.reported_clients import ReportedClient
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import AssignEvent, MemberEvent
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.pipeline.table_schema import GROUP

__all__ = ["last_clients", "read_clients", "with_instrumented"]

_MEMBERS = "members ARRAY<STRUCT<member_id: STRING>>"


def with_instrumented(chunks: DataFrame, generations: DataFrame, events: DataFrame) -> DataFrame:
    """Add column ``instrumented``: whether a leader reported that it computed the generation's assignment."""
    # All events are read in one pass, because Spark reads all bodies to filter events by kind.
    reports = (
        events.where(F.col("kind") == AssignEvent.KIND)
        .where(F.get_json_object("body", "$.error").isNull())
        .select("cluster_id", "group", F.get_json_object("body", "$.generation").cast("long").alias("generation"))
        .groupBy("group", "generation")
        .agg(F.collect_set("cluster_id").alias("reported_by"))
    )
    clusters = generations.groupBy("group").agg(F.count_distinct("cluster_id").alias("clusters"))
    # A sidecar may have no cluster id; its report is then used only if one cluster has a group of that id.
    here = F.array_contains("reported_by", F.col("cluster_id"))
    somewhere = F.array_contains("reported_by", F.lit("")) & (F.col("clusters") == 1)
    rows = chunks.join(reports, ["group", "generation"], "left").join(clusters, "group")
    return rows.withColumn("instrumented", F.coalesce(here | somewhere, F.lit(False)))


def last_clients(generations: DataFrame, bodies: DataFrame, events: DataFrame) -> DataFrame:
    """Return columns ``event_id`` and ``clients`` of the last generation with members of each group.

    ``bodies``: columns ``event_id`` and ``body``. ``clients``: JSON for `read_clients`, of the members that have
    reported. Member ids are unique in all clusters, so a report counts even if its sidecar has no cluster id.
    """
    order = F.struct("completed_at", "generation", "event_id")
    last = generations.where("member_count > 0").groupBy(*GROUP).agg(F.max_by("event_id", order).alias("event_id"))
    members = last.join(bodies, "event_id").select(
        "event_id", "group", F.explode(F.from_json("body", _MEMBERS)["members"]["member_id"]).alias("member_id")
    )
    clients = members.join(_reported(events), ["group", "member_id"]).drop("group")
    return clients.groupBy("event_id").agg(
        F.to_json(F.collect_list(F.struct("member_id", "software", "instrumented", "behind_gateway"))).alias("clients")
    )


def _reported(events: DataFrame) -> DataFrame:
    """Return the facts of a `ReportedClient` for each member of each group."""
    by_gateway = _field("evidence").eqNullSafe(Evidence.GATEWAY.value)
    software = F.struct(
        _field("software.name").alias("name"), F.coalesce(_field("software.version"), F.lit("")).alias("version")
    )
    return (
        events.where(F.col("kind") == MemberEvent.KIND)
        .groupBy("group", _field("member_id").alias("member_id"))
        .agg(
            F.max_by(software, F.when(_field("software.name").isNotNull(), F.col("timestamp"))).alias("software"),
            F.max(~by_gateway).alias("instrumented"),
            F.max(by_gateway).alias("behind_gateway"),
        )
    )


def _field(path: str) -> Column:
    return F.get_json_object("body", f"$.{path}")


def read_clients(texts: Iterable[str]) -> Mapping[str, ReportedClient]:
    """Return member id -> client from column ``clients``."""
    return {
        fields["member_id"]: ReportedClient(
            ClientSoftware(**fields["software"]) if fields.get("software") else None,
            instrumented=fields["instrumented"],
            behind_gateway=fields["behind_gateway"],
        )
        for text in texts
        for fields in json.loads(text)
    }
