"""Members with clients of other versions than this environment's: librdkafka from wheels, Java from jars."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from supply.programs import UnavailableError, python
from support.java.client_jar import wrapped_member
from support.members.member_lines import ProcessMember

HERE = Path(__file__).parent
ASSIGNOR = "org.apache.kafka.clients.consumer.RangeAssignor"
PLAIN = {"partition.assignment.strategy": ASSIGNOR, "metric.reporters": None, "rebalance.agent.events.url": None}
"""Properties of `wrapped_member` without anything of this project."""


def librdkafka_of(version, bootstrap, group, topic, client_id):
    """A consumer of confluent-kafka in the version of a lock in ``wheels``, or, without one, this environment's."""
    lock = HERE / "wheels" / f"confluent-kafka-{version}.lock"
    try:
        program = python(lock) if lock.exists() else sys.executable
    except UnavailableError as error:  # no network, or no wheel for this Python
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    paths = os.pathsep.join((str(HERE.parents[2] / "agent"), str(HERE.parents[1])))
    command = [program, "-W", "ignore", "-m", "support.telemetry.wheel_member", bootstrap, group, topic, client_id]
    return ProcessMember(command, {**os.environ, "PYTHONPATH": paths})


def java_of(class_path, bootstrap, group, topic, client_id, *, reads=False, **properties):
    """Java's consumer without callbacks of ours; ``class_path``: of a version of Kafka's clients."""
    given = {**PLAIN, **properties}
    return wrapped_member(class_path, bootstrap, group, topic, client_id, 0, "", reads=reads, **given)
