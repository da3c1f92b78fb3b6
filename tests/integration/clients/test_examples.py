"""Every program in ``examples/`` runs, exits cleanly, and reports its rebalances to the sidecar.

An example accepts ``--bootstrap-servers``, ``--topic``, and ``--seconds`` or ``--records``, after which it ends.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.observer.sidecars import Sidecar

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PARTITIONS = 12
RECORDS = 240
PATIENCE = 120
NUMBER = itertools.count(1)

ARGUMENTS = {"--seconds": "15", "--records": "100"}

PAGES = ("aiokafka", "confluent-kafka-plain")
"""Pages whose first block is a complete program that consumes the topic ``orders`` without end."""

SHARES = r"^weight 300: 9 partitions, \d+ records\nweight 100: 3 partitions, \d+ records\n$"

SHARES_OF_THREADS = (
    r"^weight 300: (9 partitions, \d+ records\nweight 100: (3|12)|12 partitions, \d+ records\nweight 100: 3)"
    r" partitions, \d+ records\n$"
)
"""Examples with several members in threads: the last one to close may have taken over all partitions."""

SAYS = {
    "aiokafka_weighted": SHARES,
    "confluent_instrumented": r"^assigned 12 partitions\nrevoked 12 partitions at 12 positions\n\d+ records\n$",
    "confluent_migrating": r"^assigned 12 partitions\nrevoked 12 partitions\n$",
    "confluent_weighted": SHARES_OF_THREADS,
    "kafka_python_weighted": SHARES_OF_THREADS,
    "own_assignor": r"^12 partitions of 1 topic\n$",
    "own_strategy": r"^12 partitions\n$",
}
"""The expected text on standard output."""

ASSIGNORS = {
    "aiokafka_weighted": {"weighted-sticky"},
    "confluent_instrumented": set(),
    "confluent_migrating": set(),
    "confluent_weighted": {"cooperative-weighted-sticky"},
    "kafka_python_weighted": {"cooperative-weighted-sticky"},
    "own_assignor": {"whole-topics"},
    "own_strategy": {"cooperative-stripes"},
}
"""Examples whose ``assign()`` calls the sidecar sees: librdkafka's own are not visible."""


@pytest.fixture(scope="module")
def admin(kafka):
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


def run(path, *arguments, **environment):
    return subprocess.run(
        [sys.executable, str(path), *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "agent"), **environment},
    )


def topic_of(admin, kafka, topic):
    """A topic with records; it may already exist."""
    if topic not in admin.list_topics(timeout=30).topics:
        admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(RECORDS):
        producer.produce(topic, b"record", partition=number % 3)
    assert producer.flush(30) == 0


def test_each_example_is_known():
    assert SAYS.keys() == ASSIGNORS.keys() == {path.stem for path in EXAMPLES}


def usage_and_run(kafka, admin, example):
    """The output of an example with --help and of its run, and the reports that the sidecar received."""
    usage = run(example, "--help")
    known = set(re.findall(r"--[a-z-]+", usage.stdout))
    topic = f"examples-{next(NUMBER)}"
    creates = ["--create"] if "--create" in known else []
    if not creates:
        topic_of(admin, kafka, topic)
    options = {"--bootstrap-servers": kafka.bootstrap_servers, "--topic": topic, **ARGUMENTS}
    with Sidecar() as sidecar:
        given = itertools.chain.from_iterable(item for item in options.items() if item[0] in known)
        ended = run(example, *creates, *given, REBALANCE_AGENT_EVENTS_URL=sidecar.url)
        return usage, ended, list(sidecar.taken)


@pytest.fixture(scope="module")
def runs(kafka, admin):
    """Run all examples in parallel, because each mostly waits."""
    with ThreadPoolExecutor(len(EXAMPLES)) as pool:
        done = pool.map(partial(usage_and_run, kafka, admin), EXAMPLES)
        return dict(zip(EXAMPLES, done, strict=True))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_its_rebalances_are_reported(runs, example):
    usage, ended, events = runs[example]
    assert usage.returncode == 0, usage.stderr
    assert "--bootstrap-servers" in usage.stdout
    assert any(argument in usage.stdout for argument in ARGUMENTS)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    assert re.search(SAYS[example.stem], ended.stdout), ended.stdout
    assert {"assigned", "left"} <= {event.get("callback") for event in events}
    assert any(event.get("partitions") for event in events)
    assigns = [event for event in events if event["kind"] == "assign"]
    assert {event["assignor"] for event in assigns} == ASSIGNORS[example.stem]
    assert not [event for event in assigns if event.get("error") or event.get("user_data_errors")]


@pytest.mark.parametrize("page", PAGES)
def test_the_lines_of_a_page_consume_and_report(kafka, admin, page):
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / f"{page}.md").read_text(), re.DOTALL).group(1)
    topic, group = f"pages-{next(NUMBER)}", f"pages-group-{next(NUMBER)}"
    for was, is_now in {"localhost:9092": kafka.bootstrap_servers, "orders": topic, "billing": group}.items():
        assert code.count(f'"{was}"') == 1
        code = code.replace(f'"{was}"', f'"{is_now}"')
    topic_of(admin, kafka, topic)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "agent")}
    with Sidecar() as sidecar:
        environment["REBALANCE_AGENT_EVENTS_URL"] = sidecar.url
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", code], stdout=subprocess.PIPE, text=True, env=environment
        )
        try:
            assert sidecar.wait_for(
                lambda taken: any(event.get("partitions") for event in taken if "callback" in event)
            )
            # It begins at the end of the topic at the time of its first request.
            producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
            line: list[str] = []
            reader = threading.Thread(target=lambda: line.append(process.stdout.readline()))
            reader.start()
            while not line:
                producer.produce(topic, b"record", partition=1)
                assert producer.flush(30) == 0
                reader.join(0.1)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
    assert line[0].startswith(f"{topic} 1 ")
    assert {event["group"] for event in sidecar.taken} == {group}
