"""The first callback of a process is as fast as later ones: it imports and compiles nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_agent import instrumentation
from support.observer.sidecars import Sidecar

AGENT = Path(instrumentation.__file__).parents[2]

CONSUMER = """
import json, sys, threading
from collections import namedtuple
from types import SimpleNamespace
from rebalance_agent.instrumentation import Instrumentation, Membership

class Assignor:
    name = "mine"

    def assign(self, cluster, members):
        return {"m": SimpleNamespace(partitions=lambda: [("t", 0), ("t", 1)])}

    def supported_protocols(self):
        return [SimpleNamespace(name="EAGER")]

partitions = [namedtuple("TopicPartition", ["topic", "partition"])("t", number) for number in range(2)]
cluster = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1})
subscription = SimpleNamespace(topics=["t"], user_data=b"", owned_partitions=[])
members = [SimpleNamespace(member_id="m", group_instance_id=None, metadata=subscription)]
hooks = Instrumentation(
    group="g",
    client_id="c",
    membership=lambda: Membership(3, "m"),
    positions=lambda partitions: dict.fromkeys(partitions, 7),
    events_url=sys.argv[1],
)
listener, assignor, received = hooks.listener(), hooks.assignor(Assignor()), []

def receive(event, arguments):
    if event in ("import", "compile", "exec", "open"):
        received.append(f"{event} {arguments[0]}")

sys.addaudithook(receive)
FIRST
for thread in threading.enumerate():
    if thread.name == "rebalance-agent-events":
        thread.join()
print(json.dumps(received))
"""
"""The whole life of a consumer; from FIRST on, it prints everything that any thread imports, compiles or opens."""


@pytest.mark.parametrize(
    "first",
    [
        "listener.on_partitions_assigned(partitions)",
        "listener.on_partitions_revoked(partitions)",
        "assignor.assign(cluster, members)",
        "with hooks.leaving(partitions): pass",
    ],
)
def test_the_first_callback_and_its_delivery_import_and_compile_nothing(first):
    with Sidecar() as sidecar:
        child = subprocess.run(
            [sys.executable, "-c", CONSUMER.replace("FIRST", first), sidecar.url],
            env={**os.environ, "PYTHONPATH": str(AGENT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    assert len(sidecar.taken) == 1
    assert json.loads(child.stdout) == []
