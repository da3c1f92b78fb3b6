"""The pipeline logs in with IAM tokens, as on Amazon MSK: Spark's Java client with the jar that the session adds."""

from __future__ import annotations

import json
import threading

import pytest
from confluent_kafka import Producer
from py4j.protocol import Py4JJavaError

from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.tokens import token_login
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.ingest.ingest_events import checkpoint_of, events_of_topic, stored_events
from rebalance_agent.pipeline.ingest.streaming import StreamSettings, ingest_stream
from rebalance_agent.pipeline.publishing.baselines_topic import publish_baselines
from rebalance_agent.pipeline.spark.kafka_options import source_options
from rebalance_agent.pipeline.spark.token_logins import prepare_driver
from support.aws.msk_iam import KEY_ID, LOGIN, REGION, SECRET, aws_environment, msk_kafka
from support.observer.observing import create_topic
from support.pipeline.pipelines import ANY_AGE, LINES

TOPIC = "iam-events"


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    with msk_kafka(tmp_path_factory.mktemp("msk")) as kafka:
        create_topic(kafka.bootstrap_servers, TOPIC, 2)
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
        for line in LINES:
            producer.produce(TOPIC, line)
        assert producer.flush(60) == 0
        yield kafka


@pytest.fixture
def properties(kafka, monkeypatch):
    """Client properties; Python's tokens are signed with the accepted key."""
    token_login.token_cache.cache_clear()
    aws_environment(monkeypatch)
    return {"bootstrap.servers": kafka.address("IAM"), **LOGIN}


@pytest.fixture
def java(spark):
    """Sets properties of Java's AWS SDK, because Java started with another environment; they are removed at the end."""
    given, system = [], spark.sparkContext._jvm.java.lang.System

    def setting(name, value):
        given.append(name)
        system.setProperty(name, value)

    yield setting
    for name in given:
        system.clearProperty(name)


def test_events_are_read_and_baselines_are_written_with_tokens_that_brokers_verify(properties, tables, spark, java):
    java("aws.accessKeyId", KEY_ID)
    java("aws.secretAccessKey", SECRET)
    records = events_of_topic(spark, properties, TOPIC, records_max=50_000)
    settings = StreamSettings(checkpoint_of(tables, properties, TOPIC), age_days_max=ANY_AGE)
    done = ingest_stream(tables, records, settings, SystemClock(), threading.Event())
    assert done.events + done.rejected == len(LINES)
    message = {"key": "group", "value": json.dumps({"cluster_id": "cluster"}), "cluster_id": "cluster"}
    messages = spark.createDataFrame([message], "key string, value string, cluster_id string")
    publish_baselines(messages.select("key", "value"), properties, "iam-baselines")
    assert stored_events(spark, properties, "iam-baselines").count() == 1


def test_the_keys_of_a_profile_are_used_and_brokers_refuse_a_wrong_secret(properties, spark, java, tmp_path):
    profiles = {"right": SECRET, "wrong": "another-secret"}
    lines = [
        f"[{name}]\naws_access_key_id={KEY_ID}\naws_secret_access_key={secret}\n" for name, secret in profiles.items()
    ]
    (tmp_path / "credentials").write_text("".join(lines))
    java("aws.sharedCredentialsFile", str(tmp_path / "credentials"))

    def records(profile):
        login = {**properties, "sasl.oauthbearer.config": f"region={REGION},profile={profile}"}
        return spark.read.format("kafka").options(**source_options(login)).option("subscribe", TOPIC).load().count()

    assert records("right") == len(LINES)
    with pytest.raises(Py4JJavaError, match="signature") as refused:
        records("wrong")
    assert "another-secret" not in str(refused.value)


def test_a_missing_jar_of_a_login_is_an_error_that_names_the_jar(spark):
    login = {**LOGIN, "sasl.oauthbearer.method": "gcp", "sasl.oauthbearer.config": ""}
    with pytest.raises(PipelineError, match=r"managed-kafka-auth-login-handler:1\.0\.6"):
        prepare_driver(spark, login)
    prepare_driver(spark, LOGIN)
