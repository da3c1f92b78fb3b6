"""Large assignments of many groups do not fill the memory of the process that describes groups."""

from __future__ import annotations

import uuid
from pathlib import Path

from rebalance_agent.cluster.describing.describing_process import MEMORY_MAX
from rebalance_agent.cluster.describing.isolated_describer import IsolatedDescriber
from support.migration.members import Broker, ClassicMember, stable

GROUPS, PARTITIONS = 8, 90_000
"""Together they need some 260 MB in librdkafka and Python's client; one group needs 32 MB."""

START_BYTES = 64 * 2**20
"""Resident memory of the process after its start, at most."""


def highest_bytes(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (highest,) = (line.split() for line in lines if line.startswith("VmHWM:"))
    return int(highest[1]) * 1024


def test_groups_whose_descriptions_need_too_much_memory_together_are_described_one_by_one(kafka):
    broker, unique = Broker(kafka.bootstrap_servers), uuid.uuid4().hex[:8]
    assigned = {0: {"none": tuple(range(PARTITIONS))}}
    groups = [f"large-{unique}-{number}" for number in range(GROUPS)]
    for group in groups:
        stable(broker, [ClassicMember(group, ("t",), session_timeout_ms=120_000)], assigned)
    describer = IsolatedDescriber({"bootstrap.servers": kafka.bootstrap_servers}, 10.0)
    try:
        answers = describer(groups)
        assert [len(answer.result().description.members) for answer in answers.values()] == [1] * GROUPS
        assert describer._starts > 1
        assert highest_bytes(describer._running._process.pid) < MEMORY_MAX + START_BYTES
    finally:
        describer._end()
        broker.close()
