"""A transactional member goes on with another producer if a call of its own never returns."""

from __future__ import annotations

import threading
from functools import partial
from types import SimpleNamespace

import pytest

from chaos.members import transactions_member
from chaos.members.transactions_member import Copier

CONFIG = {"bootstrap": "", "group": "g", "topic": "t", "name": "m", "settings": {}}
RECORD = SimpleNamespace(partition=lambda: 3, offset=lambda: 7)


class Producer:
    """A producer of librdkafka that never answers, if it is the first one in ``made``."""

    def __init__(self, made, settings):
        self.done, self.never, self.stuck = [], threading.Event(), not made
        self.name = settings["transactional.id"]
        made.append(self)

    def send_offsets_to_transaction(self, *_):
        if self.stuck:
            self.never.wait()
        self.done.append("offsets")

    def __getattr__(self, name):
        return lambda *_, **__: self.done.append(name)


@pytest.fixture
def copier(monkeypatch):
    sought, said, producers = [], [], []
    consumer = SimpleNamespace(subscribe=lambda *_, **__: None, consumer_group_metadata=str, seek=sought.append)
    fakes = {"Consumer": lambda _: consumer, "Producer": partial(Producer, producers), "STUCK_S": 0.05}
    for name, fake in fakes.items():
        monkeypatch.setattr(transactions_member, name, fake)
    made = Copier(CONFIG, SimpleNamespace(say=lambda *words: said.append(words)), threading.Event())
    made._producer, made.sought, made.said, made.producers = made._new_producer(), sought, said, producers
    yield made
    for each in producers:
        each.never.set()


def copy(copier):
    copier._batch = [RECORD]
    copier._copy()


def test_a_transaction_whose_offsets_are_never_sent_is_left_to_the_broker_and_done_again(copier):
    copy(copier)
    stuck, other = copier.producers
    assert "commit_transaction" not in stuck.done
    assert copier.said == []
    ((topic, partition, offset),) = [(each.topic, each.partition, each.offset) for each in copier.sought]
    assert (topic, partition, offset) == ("t", 3, 7)
    assert stuck.name != other.name
    copy(copier)
    assert other.done[-2:] == ["offsets", "commit_transaction"]
    assert copier.said == [("read", 3, 7)]
