"""The sentence on a deploy counts replaced members, or replacements if a second deploy replaced members again."""

import dataclasses

import pytest

from golden.test_explain_text import rollout
from rebalance_agent.ui.sentences.explanation import explanation_of


@pytest.mark.parametrize(
    ("replaced", "text"),
    [
        (1, "replaced 1 of 2 members in 2 rebalances"),
        (2, "replaced 2 of 2 members in"),
        (3, "made 3 replacements among 2 members in"),
    ],
)
def test_a_rollout_does_not_replace_more_members_than_the_group_has(replaced, text):
    (event,) = rollout()[-1:]
    explanation = explanation_of([], [dataclasses.replace(event, members_replaced=replaced)], 1)
    assert text in explanation.rollouts[0]
