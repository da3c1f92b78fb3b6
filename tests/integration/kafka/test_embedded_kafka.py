"""The embedded Kafka itself, with the user's cache: missing jars are downloaded."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.artifacts.fetching import cache_directory, ensure_artifacts
from rebalance_agent.testing import BrokerError, EmbeddedKafka
from rebalance_agent.testing.__main__ import main as run_empty_kafka
from rebalance_agent.testing.kafka.kafka_versions import kafka_version

pytestmark = pytest.mark.integration

PATIENCE_S = 60
PARENT = """
import sys
from rebalance_agent.testing import EmbeddedKafka
with EmbeddedKafka(offsets_topic=False) as kafka:
    print(kafka.pid(1), kafka.directory, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(monkeypatch, tmp_path):
    """Keep logs in a folder that pytest removes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def await_true(condition) -> bool:
    never = threading.Event()
    return any(condition() or never.wait(0.05) for _ in range(PATIENCE_S * 20)) or condition()


def create_topic(kafka, name, **settings):
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for future in admin.create_topics([NewTopic(name, **settings)]).values():
        future.result(PATIENCE_S)
    return admin


def produce(kafka, topic, values):
    failed = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": "all"})
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(PATIENCE_S) == 0
    assert failed == []


def consume(kafka, topic, count):
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"of-{topic}", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    try:
        messages = consumer.consume(count, PATIENCE_S)
        return [message.value() for message in messages if message.error() is None]
    finally:
        consumer.close()


def in_sync(admin, topic):
    partitions = admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
    return {partition: set(each.isrs) for partition, each in partitions.items()}


def on_three(nodes):
    return {0: nodes, 1: nodes, 2: nodes}


def test_a_group_consumes_what_was_produced(kafka):
    create_topic(kafka, "round-trip", num_partitions=1)
    produce(kafka, "round-trip", [b"a", b"b", b"c"])
    assert consume(kafka, "round-trip", 3) == [b"a", b"b", b"c"]


def test_the_broker_is_reachable_from_this_machine_only(kafka):
    listening = [each.laddr.ip for each in psutil.Process(kafka.pid(1)).net_connections() if each.status == "LISTEN"]
    assert len(listening) == 2
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_a_java_tool_runs_against_the_broker(kafka):
    done = kafka.run_tool(
        "org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", kafka.bootstrap_servers, "describe"
    )
    assert done.returncode == 0
    assert done.stderr == ""
    levels = {line.split()[1]: line for line in done.stdout.splitlines()}
    assert "FinalizedVersionLevel: 1" in levels["group.version"]  # groups of KIP-848 are enabled


def test_a_java_tool_reads_standard_input_and_fails_with_its_own_status(kafka):
    tool = "org.apache.kafka.tools.ConsoleProducer"
    topic = ("--bootstrap-server", kafka.bootstrap_servers, "--topic", "typed")
    assert kafka.run_tool(tool, *topic, stdin="x\ny\n").returncode == 0
    assert consume(kafka, "typed", 2) == [b"x", b"y"]
    assert kafka.run_tool(tool, "--no-such-option").returncode == 1


def test_a_java_tool_that_does_not_end_is_killed(kafka):
    consumer = ("org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", kafka.bootstrap_servers)
    with pytest.raises(BrokerError, match=r"ConsoleConsumer did not end within 3 s"):
        kafka.run_tool(*consumer, "--topic", "__consumer_offsets", timeout=3)
    running = [each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"])]
    assert not [line for line in running if consumer[0] in line and kafka.bootstrap_servers in line]


def test_the_callers_properties_reach_the_broker():
    with EmbeddedKafka(properties={"num.partitions": "5"}, offsets_topic=False) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        assert admin.list_topics(timeout=PATIENCE_S).topics == {}
        produce(kafka, "made-by-producing", [b"x"])
        assert (
            len(admin.list_topics("made-by-producing", timeout=PATIENCE_S).topics["made-by-producing"].partitions) == 5
        )
        root = kafka.directory
    assert not root.exists()


def test_three_brokers_continue_without_one_and_accept_it_again():
    with EmbeddedKafka(3) as kafka:
        admin = create_topic(kafka, "replicated", num_partitions=3, replication_factor=3)
        everyone = on_three({1, 2, 3})
        assert await_true(lambda: in_sync(admin, "replicated") == everyone)

        kafka.stop_broker(2)
        assert await_true(lambda: in_sync(admin, "replicated") == on_three({1, 3}))
        produce(kafka, "replicated", [b"while 2 is away"])
        kafka.start_broker(2)
        assert await_true(lambda: in_sync(admin, "replicated") == everyone)

        pid = kafka.pid(1)
        kafka.kill_broker(1)
        assert gone(pid)
        with pytest.raises(BrokerError, match="broker 1 is not running"):
            kafka.kill_broker(1)
        assert await_true(lambda: in_sync(admin, "replicated") == on_three({2, 3}))
        produce(kafka, "replicated", [b"while 1 is away"])
        kafka.start_broker(1)
        assert await_true(lambda: in_sync(admin, "replicated") == everyone)
        assert sorted(consume(kafka, "replicated", 2)) == [b"while 1 is away", b"while 2 is away"]


def test_a_second_start_downloads_nothing(kafka):
    def refuse(artifact, _directory):
        raise AssertionError(artifact)

    jars = ensure_artifacts(kafka_version().artifacts, cache_directory(), refuse)
    assert kafka.java_classpath() == os.pathsep.join(map(str, jars))


def test_a_bad_property_is_reported_with_the_logs_end_and_the_log_is_kept():
    kafka = EmbeddedKafka(properties={"offsets.topic.num.partitions": "none"})
    with pytest.raises(BrokerError) as caught:
        kafka.start()
    text = str(caught.value)
    assert text.startswith("broker 1 ended with exit code 1 before it answered. Its log is ")
    assert "Invalid value none for configuration offsets.topic.num.partitions" in text
    log = text.partition("Its log is ")[2].partition(", and ends")[0]
    assert "Invalid value none" in Path(log).read_text(encoding="utf-8")


def test_a_broker_that_does_not_respond_in_time_is_reported_and_ended():
    kafka = EmbeddedKafka(startup_timeout=0.2)
    with pytest.raises(BrokerError, match=r"was not ready within [\d.]+ s; the machine may be busy"):
        kafka.start()
    with pytest.raises(BrokerError, match="not started"):
        kafka.pid(1)


def test_a_port_occupied_in_the_meantime_is_no_failure(kafka, monkeypatch):
    from rebalance_agent.testing.kafka import layout  # noqa: PLC0415

    taken = int(kafka.bootstrap_servers.rpartition(":")[2])
    answers = [[taken - 1, taken], layout.free_ports(2)]
    monkeypatch.setattr(layout, "free_ports", lambda _: list(answers.pop(0)))
    with EmbeddedKafka(offsets_topic=False) as second:
        assert second.bootstrap_servers != kafka.bootstrap_servers
        assert second.pid(1) != kafka.pid(1)
    assert answers == []


def test_a_given_directory_is_kept(tmp_path):
    with EmbeddedKafka(directory=tmp_path / "kafka", offsets_topic=False) as kafka:
        assert kafka.directory == tmp_path / "kafka"
        produce(kafka, "kept", [b"x"])
    assert (tmp_path / "kafka" / "broker-1" / "data" / "kept-0").is_dir()
    with pytest.raises(BrokerError, match="is not empty"):
        EmbeddedKafka(directory=tmp_path / "kafka").start()


def test_a_failed_block_keeps_the_logs_and_names_their_folder():
    with pytest.raises(ZeroDivisionError) as caught, EmbeddedKafka(offsets_topic=False) as kafka:  # noqa: PT012
        log = kafka.log_path(1)
        raise ZeroDivisionError
    assert caught.value.__notes__ == [f"the brokers' logs are kept in {log.parent}"]
    assert [path.name for path in log.parent.iterdir()] == ["broker-1.log"]


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_java_ends_with_the_process_that_started_it(signum, tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)},
    )
    try:
        with parent:
            pid, directory = parent.stdout.readline().split()
            assert not gone(int(pid))
            parent.send_signal(signum)
            assert await_true(lambda: gone(int(pid)))
            assert await_true(lambda: not os.path.exists(f"{directory}/broker-1"))  # noqa: PTH110
    finally:
        with suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_the_command_on_the_page_runs_an_empty_kafka_until_it_is_stopped(signum, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-m", "rebalance_agent.testing"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)},
    ) as command:
        servers = re.search(r"Kafka 4\S+ is ready at (\S+)\. Press Ctrl-C", command.stdout.readline())[1]
        assert AdminClient({"bootstrap.servers": servers}).list_topics(timeout=PATIENCE_S).brokers
        command.send_signal(signum)
        assert command.wait(PATIENCE_S) == 0
    assert not list(tmp_path.glob("embedded-kafka-*"))


def test_the_command_on_the_page_explains_what_is_wrong(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["testing", "--brokers", "0"])
    with pytest.raises(SystemExit) as ended:
        run_empty_kafka()
    assert (ended.value.code, capsys.readouterr().err.splitlines()[-1]) == (
        1,
        "python -m rebalance_agent.testing: brokers must be 1 to 9, not 0",
    )


def test_the_example_on_the_page_for_users_runs(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "embedded-kafka.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python title=\"(\S+)\"\n(.*?)```", page, re.DOTALL)
    assert [name for name, _ in blocks] == ["conftest.py", "test_orders.py", "test_failover.py", "test_permissions.py"]
    for name, text in blocks:
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "test_failing.py").write_text("def test_failing(kafka):\n    assert not kafka.node_ids\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S * 2,
        check=False,
    )
    assert "1 failed, 3 passed" in done.stdout, done.stdout
    kept = re.search(r"the broker's log is kept in (\S+)", done.stdout)
    assert kept is not None
    assert [path.name for path in Path(kept[1]).iterdir()] == ["broker-1.log"]
