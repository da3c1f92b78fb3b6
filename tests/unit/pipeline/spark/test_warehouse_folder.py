"""The folder that Spark creates where it is started is removed at the end, unless it was there before."""

import pytest
from pyspark import SparkContext

from rebalance_agent.pipeline.spark import warehouse_folder


@pytest.fixture
def at_exit(monkeypatch, tmp_path):
    """What is to be called at the end of a process that is started in ``tmp_path``."""
    calls = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(warehouse_folder.atexit, "register", lambda *call: calls.append(call))
    return calls


def test_a_new_folder_is_removed(at_exit, tmp_path):
    warehouse_folder.remove_at_exit()
    (tmp_path / "artifacts").mkdir()
    [(function, *arguments)] = at_exit
    function(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_there_before_stays(at_exit, tmp_path):
    (tmp_path / "artifacts").mkdir()
    warehouse_folder.remove_at_exit()
    assert at_exit == []
