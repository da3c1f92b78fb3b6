"""A member of a streams group, in a process: ``python -m chaos.members.streams_member JSON``; see `callback_lines`.

Kafka Streams has no callbacks for partitions, but the processor of a task is initialised when the task begins and
closed when it is given up. A record counts as read when it is processed.
"""

from __future__ import annotations

import jpype

from chaos.members.callback_lines import act_as
from support.scenarios.scenario_streams import STREAMS, be_member, start_java


def _processors(polls):
    """Return the Java supplier of processors that report their tasks and records."""

    @jpype.JImplements(f"{STREAMS}.processor.api.Processor")
    class Processor:
        @jpype.JOverride
        def init(self, context):
            self.context = context
            polls.say("assigned", context.taskId().partition())

        @jpype.JOverride
        def process(self, _record):
            record = self.context.recordMetadata().get()
            polls.say("read", record.partition(), record.offset())

        @jpype.JOverride
        def close(self):
            polls.say("revoked", self.context.taskId().partition())

    @jpype.JImplements(f"{STREAMS}.processor.api.ProcessorSupplier")
    class Supplier:
        @jpype.JOverride
        def get(self):
            return Processor()

    return Supplier()


def run(config, polls, stop):
    """Run a member until ``stop``, then leave."""
    start_java()
    settings = {"commit.interval.ms": "1000", **config["settings"]}
    be_member({**config, "settings": settings}, [([config["topic"]], _processors(polls))], stop)


if __name__ == "__main__":
    act_as(run)
