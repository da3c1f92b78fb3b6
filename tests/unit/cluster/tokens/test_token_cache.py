"""One token serves all clients of a process, and is replaced before it expires."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from rebalance_agent.clock import FakeClock
from rebalance_agent.cluster.tokens.token_cache import Token, TokenCache, TokenError

LIFETIME_MS = 900_000


class Platform:
    """Tokens numbered from 1, each valid for 15 minutes; none while ``fails``."""

    def __init__(self):
        self.clock = FakeClock()
        self.fetched = 0
        self.fails = False
        self.tokens = TokenCache("aws-msk-iam", self._fetch, self.clock)

    def _fetch(self):
        if self.fails:
            raise TokenError("no credentials")
        self.fetched += 1
        return Token(str(self.fetched), self.clock.now_ms() + LIFETIME_MS)

    def after(self, seconds):
        self.clock.advance(seconds * 1000)
        return self.tokens.token().text


def test_a_token_is_reused_for_two_thirds_of_its_lifetime():
    platform = Platform()
    assert [platform.after(seconds) for seconds in (0, 300, 299, 2, 0)] == ["1", "1", "1", "2", "2"]


def test_an_old_token_is_used_until_it_expires_while_there_is_no_new_one():
    platform = Platform()
    platform.after(0)
    platform.fails = True
    assert platform.after(899) == "1"
    with pytest.raises(TokenError, match="no credentials"):
        platform.after(1)
    platform.fails = False
    assert platform.after(0) == "2"


def test_a_new_token_is_tried_each_time_after_a_failure():
    platform = Platform()
    platform.after(0)
    platform.fails = True
    platform.after(700)
    platform.fails = False
    assert platform.after(0) == "2"


def test_a_failure_is_in_the_log_with_the_time_that_the_old_token_is_valid():
    platform = Platform()
    platform.after(0)
    platform.fails = True
    with capture_logs() as logs:
        platform.after(840)
    expected = {"event": "no_token", "log_level": "warning", "method": "aws-msk-iam", "reason": "no credentials"}
    assert logs == [expected | {"valid_ms": 60_000}]
