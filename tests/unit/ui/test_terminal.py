"""Colours and control sequences are written only to terminals that show them."""

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
        (io.StringIO(), {"TERM": "dumb", "FORCE_COLOR": "1"}, False, True),
        (Terminal(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_colors_need_a_terminal_and_no_opt_out(stream, environment, live, colors):
    assert (is_live(stream, environment), has_colors(stream, environment)) == (live, colors)
