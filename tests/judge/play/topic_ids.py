"""Reads the topic ids, which the records of KIP-848 groups contain instead of names."""

from __future__ import annotations

import base64

from confluent_kafka import TopicCollection

ANSWER_S = 30


def topic_ids(admin):
    """Return the name of each topic that is not internal, by its id as Kafka writes it."""
    names = [name for name in admin.list_topics(timeout=ANSWER_S).topics if not name.startswith("__")]
    found = admin.describe_topics(TopicCollection(names))
    return {_text(each.result(ANSWER_S).topic_id): name for name, each in found.items()}


def _text(topic_id):
    bits = [topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits()]
    data = b"".join(each.to_bytes(8, "big", signed=True) for each in bits)
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
