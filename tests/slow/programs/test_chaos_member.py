"""A member's program of `make chaos` that commits by itself gives up its partitions at once, on a real broker."""

from __future__ import annotations

import contextlib

import pytest

from chaos.members.kinds import SEATS_KINDS
from chaos.processes.groups import Member
from support.members.threads import Load
from support.observer.observing import create_topic, eventually

pytestmark = pytest.mark.slow

PARTITIONS = 4
BETWEEN_S = 0.02
"""Seconds between two records of a partition: at each rebalance the member has processed some since its last commit."""

(KIND,) = (each for each in SEATS_KINDS if each.client == "kafka-python")


def test_kafka_pythons_member_commits_what_it_processed_before_another_one_gets_its_partitions(kafka):
    create_topic(kafka.bootstrap_servers, "chaos-member", PARTITIONS)
    with Load(kafka, "chaos-member", PARTITIONS, BETWEEN_S / PARTITIONS), contextlib.ExitStack() as left:
        first = left.enter_context(contextlib.closing(_member(kafka.bootstrap_servers, "first")))
        eventually(lambda: len(first.read) > PARTITIONS)
        second = left.enter_context(contextlib.closing(_member(kafka.bootstrap_servers, "second")))
        assert eventually(lambda: len(second.owned) == PARTITIONS // 2)
        assert eventually(lambda: len(second.read) > PARTITIONS)
    assert not first.read.keys() & second.read.keys(), "its last commit came after the rebalance"


def _member(bootstrap, name):
    common = {"bootstrap": bootstrap, "group": "chaos-member", "topic": "chaos-member", "events_url": None}
    return Member({"client": KIND.client, "settings": KIND.settings, "name": name, **common})
