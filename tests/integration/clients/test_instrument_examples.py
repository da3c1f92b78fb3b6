"""The lines that newcomers copy from the pages work as described."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import threading
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.observer.sidecars import Sidecar

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
ADDRESS = "localhost:9092"


def examples():
    for page in (ROOT / "docs" / "instrument-a-consumer.md", ROOT / "README.md"):
        for _, code in re.findall(r"^( *)```python\n(.*?)^\1```", page.read_text(), re.DOTALL | re.MULTILINE):
            if "rebalance_agent.clients.kafka_python" in code:
                yield pytest.param(textwrap.dedent(code), id=page.name)


def test_both_pages_have_an_example():
    assert [example.id for example in examples()] == ["instrument-a-consumer.md", "README.md"]


UNCHANGED = """\
import sys
from confluent_kafka import Consumer

consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2]})
consumer.subscribe([sys.argv[3]])
while True:
    consumer.poll(0.1)
"""


def test_a_program_that_is_not_changed_reports_through_the_instrumentor(kafka, tmp_path):
    topic = f"topic-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 3, 1)])[topic].result(30)
    program = tmp_path / "program.py"
    program.write_text(UNCHANGED)
    with Sidecar() as sidecar:
        command = [sys.executable, "-m", "rebalance_agent.clients.instrumentor"]
        process = subprocess.Popen(
            [*command, program, kafka.bootstrap_servers, topic, topic],
            env={"PYTHONPATH": str(ROOT / "agent"), "REBALANCE_AGENT_EVENTS_URL": sidecar.url},
        )
        try:
            assert sidecar.wait_for(lambda taken: any(event.get("partitions") == {topic: "0-2"} for event in taken))
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("code", list(examples()))
def test_the_first_example_consumes_and_reports(kafka, tmp_path, code):
    # Both pages use the same group, whose previous member was killed and is not removed yet.
    (named,) = re.findall(r'group_id="(.*?)"', code)
    group = f"{named}-{uuid.uuid4().hex}"
    code = code.replace(named, group)
    (topic,) = re.findall(r'KafkaConsumer\(\s*"(.*?)"', code)
    assert code.count(ADDRESS) == 1
    assert len([line for line in code.splitlines() if line]) <= 15
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    if topic not in admin.list_topics(timeout=30).topics:
        admin.create_topics([NewTopic(topic, 3, 1)])[topic].result(30)
    output = tmp_path / "output"
    with Sidecar() as sidecar, output.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", code.replace(ADDRESS, kafka.bootstrap_servers)],
            stdout=file,
            env={"PYTHONPATH": str(ROOT / "agent"), "REBALANCE_AGENT_EVENTS_URL": sidecar.url},
        )
        try:
            assert sidecar.wait_for(
                lambda taken: any(event.get("partitions") for event in taken if "callback" in event)
            )
            # The example begins at the end of the topic, so it does not read earlier records.
            producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
            pause = threading.Event()
            for _ in range(300):
                producer.produce(topic, b"record", partition=1)
                assert producer.flush(30) == 0
                pause.wait(0.1)
                if "\n" in output.read_text():
                    break
        finally:
            process.kill()
            process.wait()
        events = list(sidecar.taken)
    assert output.read_text().startswith(f"{topic} 1 ")
    assert {event["group"] for event in events} == {group}
    assert {event["kind"] for event in events} == {"member", "assign"}
