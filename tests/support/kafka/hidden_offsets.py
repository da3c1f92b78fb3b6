"""An observer that may not read the offsets topic, beside one that may, on the same broker."""

from __future__ import annotations

from contextlib import contextmanager

from rebalance_agent.runtime.settings.rights import agent_rights
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.testing import EmbeddedKafka, Listener
from support.observer.observing import create_topic, events, observing
from support.rights.granted import give

EVENTS, TRUTH = "rebalance-events", "truth"
PASSWORD = "not-a-secret"
SOON = {"describe_interval_seconds": 0.5, "list_all_interval_seconds": 0.5, "settle_seconds": 0.2}
"""Settings of `beside_the_truth` for short tests."""


@contextmanager
def hidden_offsets(mechanism, brokers=1):
    """Brokers with topic ``t``. The user ``observer`` has every permission but Read on the offsets topic."""
    with EmbeddedKafka(brokers, listeners=users(mechanism), authorizer=True) as kafka:
        create_topic(kafka.bootstrap_servers, "t", 4, min(brokers, 3))
        give_all_but_offsets(kafka)
        yield kafka


def users(mechanism):
    """The listener to which ``observer`` logs in."""
    return {"USERS": Listener.sasl(mechanism, {"observer": PASSWORD})}


def give_all_but_offsets(kafka):
    """Grant ``observer`` every permission but Read on the offsets topic."""
    give(kafka, "User:observer", [right for right in agent_rights(ObserverSettings()) if right.mode != "admin-only"])


def login(kafka, mechanism):
    """The properties of a client that logs in as ``observer``."""
    return {
        "bootstrap.servers": kafka.address("USERS"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "observer",
        "sasl.password": PASSWORD,
    }


def file_login(kafka, mechanism, folder):
    """The address and the properties of `login` for a process, with the password in a file in ``folder``."""
    properties, password = login(kafka, mechanism), folder / "password"
    password.write_text(properties.pop("sasl.password"))
    return properties.pop("bootstrap.servers"), {**properties, "sasl.password.file": password}


@contextmanager
def beside_the_truth(kafka, mechanism, **settings):
    """An observer as this user publishes to `EVENTS`, and one with all permissions to `TRUTH`; yield the first one."""
    with (
        observing(kafka.bootstrap_servers, events_topic=TRUTH, **settings),
        observing(None, kafka=login(kafka, mechanism), events_topic=EVENTS, **settings) as watched,
    ):
        yield watched


def generations(kafka, topic, group):
    """Generation -> its event in ``topic``; the last one if it was published again."""
    kept = [event for event in events(kafka.bootstrap_servers, topic, group=group) if event["kind"] == "generation"]
    return {event["generation"]: event for event in kept}
