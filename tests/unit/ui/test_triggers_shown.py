"""Every trigger has a name, a sentence, a sign and a colour."""

from importlib.resources import files

import pytest

from rebalance_agent.model.episode import Trigger
from rebalance_agent.ui import svg
from rebalance_agent.ui.page.owners_picture import SIGNS
from rebalance_agent.ui.sentences.explained.causes import _CAUSES
from rebalance_agent.ui.svg.pieces import _NAMES, trigger_class

LOOK = files(svg).joinpath("look.css").read_text(encoding="utf-8")


@pytest.mark.parametrize("shown", [_NAMES, _CAUSES, SIGNS], ids=["name", "sentence", "sign"])
def test_every_trigger_is_shown(shown):
    assert set(shown) == set(Trigger)


@pytest.mark.parametrize("trigger", Trigger)
def test_every_trigger_has_a_colour(trigger):
    assert f".{trigger_class(trigger)} {{ fill: " in LOOK
