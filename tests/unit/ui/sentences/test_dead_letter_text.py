"""Where the archived records of a share group go, in words: on the page and in `watch`."""

import pytest

from rebalance_agent.api.view_shapes import build_detail
from rebalance_agent.model.group import DeadLetterQueue, GroupType
from rebalance_agent.ui.sentences.dead_letter_text import dead_letter_text
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, headline
from support.observer.views import NOW, full_view


@pytest.mark.parametrize(
    ("queue", "text"),
    [
        (None, ""),
        (DeadLetterQueue("", False), "dead letter queue: none (archived records are not copied)"),
        (DeadLetterQueue("dlq.s", False), "dead letter queue: dlq.s (only headers are written)"),
        (DeadLetterQueue("dlq.s", True), "dead letter queue: dlq.s (keys and values are copied)"),
        (DeadLetterQueue("dlq\x1b[1m", True), r"dead letter queue: dlq\x1b[1m (keys and values are copied)"),
    ],
)
def test_the_text_names_the_topic_and_what_is_written_to_it(queue, text):
    assert dead_letter_text(queue) == text


def test_watch_shows_it_among_the_facts_of_the_group():
    queue = DeadLetterQueue("dlq.s", copies_records=False)
    shared = build_detail(full_view("s", GroupType.SHARE, dead_letter_queue=queue), NOW)
    assert ", dead letter queue: dlq.s (only headers are written)\n" in headline(GroupCloseUp(shared, (), None, None))
    assert "dead letter" not in headline(GroupCloseUp(build_detail(full_view("g"), NOW), (), None, None))
