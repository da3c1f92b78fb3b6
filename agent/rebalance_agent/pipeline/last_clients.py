"""Finds the clients of each group's last members in the members' reports: library, and whether behind a gateway."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.advice.replay.reported_clients import ReportedClient
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import MemberEvent
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.pipeline.table_schema import GROUP
from rebalance_agent.pipeline.tables.generations import EVENT_CHARACTERS_MAX

__all__ = ["last_clients", "read_clients"]

_MEMBERS = "members ARRAY<STRUCT<member_id: STRING>>"


def last_clients(generations: DataFrame, events: DataFrame) -> DataFrame:
    """Return columns ``event_id`` and ``clients`` of the last generation with members of each group.

    ``clients``: JSON for `read_clients`, of the members that have reported. Member ids are unique in all clusters, so a
    report counts even if its sidecar does not know the cluster.
    """
    order = F.struct("completed_at", "generation", "event_id")
    last = generations.where("member_count > 0").groupBy(*GROUP).agg(F.max_by("event_id", order).alias("event_id"))
    bodies = generations.where(F.length("body") <= EVENT_CHARACTERS_MAX).select("event_id", "body")
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
