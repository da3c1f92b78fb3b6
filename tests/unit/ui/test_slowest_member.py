"""The pages name the member with the longest recent wait, not only that of the last rebalance."""

import pytest

from rebalance_agent.api.view_shapes import build_detail, build_rebalance
from rebalance_agent.ui.page.group_page import group_content
from rebalance_agent.ui.sentences.explanation import Explanation
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, awaited_text, rebalance_rows
from rebalance_agent.ui.words import UNKNOWN
from support.observer.fakes import generation_event
from support.observer.views import NOW, full_view

HOUR_MS = 3_600_000


def rebalance(client, lower, upper, *, ago_ms=0):
    return build_rebalance(
        [
            generation_event(
                timestamp_ms=NOW - ago_ms,
                slowest_client_id=client,
                slowest_host="/h",
                slowest_lower_seconds=lower,
                slowest_seconds=upper,
            )
        ]
    )


def close_up(*rebalances):
    return GroupCloseUp(build_detail(full_view(running=None), NOW), rebalances, None, None)


AGAIN = rebalance("invoices-1", 0.4, 0.44)
EXPELLED = rebalance("invoices-2", 10.5, 10.6, ago_ms=1_500)


def test_a_member_that_was_removed_and_rejoined_is_named():
    text = awaited_text(close_up(AGAIN, EXPELLED))
    assert text.replace("\N{NO-BREAK SPACE}", " ").startswith(
        "In the last hour, the longest wait of a rebalance was for invoices-2: 10.5 s to 10.6 s"
    )
    assert text in group_content(close_up(AGAIN, EXPELLED), (), 0, Explanation((), (), ""))


@pytest.mark.parametrize(
    "rebalances",
    [
        (),
        (rebalance("a", 0.0, 0.0),),
        (rebalance("a", 10.5, 10.6, ago_ms=HOUR_MS + 1),),
        (rebalance(None, None, None),),
        (rebalance("a", None, None),),
    ],
)
def test_no_member_is_named_if_no_rebalance_of_the_last_hour_waited(rebalances):
    assert awaited_text(close_up(*rebalances)) == ""
    assert "waited longest" not in group_content(close_up(*rebalances), (), 0, Explanation((), (), ""))


def test_a_zero_wait_is_not_shown_in_the_table():
    slowest = [row[6] for row in rebalance_rows(close_up(AGAIN, rebalance("a", 0.0, 0.0), rebalance("a", 0.0, 0.2)))]
    assert slowest[0].startswith("invoices-1 ")
    assert slowest[1] == UNKNOWN
    assert slowest[2].startswith("a ")
