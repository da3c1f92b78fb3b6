"""Tables in memory: reading and writing files is tested elsewhere, and would take longer than tests of queries."""

from __future__ import annotations

from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.group_hours import group_hours
from rebalance_agent.pipeline.tables.members import members
from rebalance_agent.pipeline.tables.schemas import TABLES
from support.pipeline.event_rows import events_frame


class Held:
    """Reads as `DeltaTables` does; a table without rows is empty."""

    def __init__(self, spark):
        self.spark = spark
        self.frames = {}

    def put(self, name, frame):
        self.frames[name] = frame.persist()

    def rows(self, name, *rows):
        schema = TABLES[name].schema
        self.put(name, self.spark.createDataFrame([[row.get(each) for each in schema.names] for row in rows], schema))

    def read(self, name):
        return self.frames[name] if name in self.frames else self.spark.createDataFrame([], TABLES[name].schema)

    def fill(self, events):
        """Compute generations, members and hours from ``events``."""
        self.put("events", events_frame(self.spark, events))
        self.put("generations", generations(self.read("events")))
        self.put("members", members(self.read("generations")))
        self.put("group_hours", group_hours(self.read("generations"), self.read("events")))

    def close(self):
        for frame in self.frames.values():
            frame.unpersist()
