"""Kafka accepts the settings of compose.yaml, tested with the embedded Kafka of another minor version."""

from __future__ import annotations

from pathlib import Path

import yaml
from confluent_kafka.admin import AdminClient, ConfigResource

SERVICES = yaml.safe_load((Path(__file__).parents[3] / "compose.yaml").read_text(encoding="utf-8"))["services"]


def test_every_property_of_the_broker_is_valid(kafka):
    # The image converts KAFKA_NODE_ID to node.id, and so on.
    given = {name.removeprefix("KAFKA_").lower().replace("_", ".") for name in SERVICES["kafka"]["environment"]}
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    (answer,) = admin.describe_configs([ConfigResource(ConfigResource.Type.BROKER, "1")]).values()
    assert given - answer.result(30).keys() == set()


def test_the_producer_accepts_its_arguments_and_creates_its_topic(kafka):
    script, *arguments = SERVICES["producer"]["command"]
    assert script.endswith("/kafka-producer-perf-test.sh")
    changed = {
        "--topic=orders": "--topic=compose-orders",
        "--num-records=1000000000": "--num-records=1",
        "bootstrap.servers=kafka:9092": f"bootstrap.servers={kafka.bootstrap_servers}",
    }
    assert changed.keys() <= set(arguments)
    given = (changed.get(each, each) for each in arguments)
    done = kafka.run_tool("org.apache.kafka.tools.ProducerPerformance", *given)
    assert done.returncode == 0, done.stderr
    topics = AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=10).topics
    assert "compose-orders" in topics
