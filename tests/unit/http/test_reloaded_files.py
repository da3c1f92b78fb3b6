from __future__ import annotations

import logging

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.reloaded_files import LOOK_AGAIN_S, Reloaded


@pytest.mark.parametrize("error", [InvalidInputError("token", "is empty"), PermissionError(13, "no"), ValueError("?")])
def test_whatever_is_wrong_with_a_changed_file_the_former_contents_stay_and_it_is_logged_once(tmp_path, caplog, error):
    file, clock = tmp_path / "secret", FakeClock()
    file.write_text("one")

    def load():
        if file.read_text() == "broken":
            raise error
        return file.read_text()

    def look():
        clock.advance(round(LOOK_AGAIN_S * 1000))
        return reloaded.get()

    with caplog.at_level(logging.WARNING):
        reloaded = Reloaded([str(file)], load, clock)
        file.write_text("broken")
        assert [look(), look()] == ["one", "one"]
        assert len(caplog.records) == 1
        file.write_text("two")
        assert look() == "two"


def test_a_file_that_vanished_leaves_what_it_held(tmp_path, caplog):
    file, clock = tmp_path / "secret", FakeClock()
    file.write_text("one")
    reloaded = Reloaded([str(file)], file.read_text, clock)
    file.unlink()
    for _ in range(3):
        clock.advance(round(LOOK_AGAIN_S * 1000))
        assert reloaded.get() == "one"
    assert len(caplog.records) == 1
    file.write_text("two")
    clock.advance(round(LOOK_AGAIN_S * 1000))
    assert reloaded.get() == "two"
