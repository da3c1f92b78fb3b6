"""Where the archived records of a share group go, in words: on the page and in `watch`."""

import pytest

from rebalance_agent.model.group import DeadLetterQueue
from rebalance_agent.ui.sentences.dead_letter_text import dead_letter_text


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
