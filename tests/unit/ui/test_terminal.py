"""Colours and control sequences are written only where a user sees them as such."""

from __future__ import annotations

import io

import pytest

from rebalance_agent.ui.terminal import has_colors, is_live


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "live", "colors"),
    [
        (Terminal(), {}, True, True),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": ""}, True, True),
        (Terminal(), {"NO_COLOR": "1"}, True, False),
        (Terminal(), {"TERM": "dumb"}, False, False),
        (io.StringIO(), {"TERM": "xterm"}, False, False),
    ],
)
def test_colors_need_a_live_terminal_and_a_user_who_does_not_refuse_them(stream, environment, live, colors):
    assert (is_live(stream, environment), has_colors(stream, environment)) == (live, colors)
