"""More fleets whose events change between the runs of `aggregate` than the Spark tier's."""

from __future__ import annotations

import random

import pytest

from rebalance_agent.pipeline.increments import reach
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables import group_hours as hours_module
from support.pipeline.changing_fleets import Fleet, assert_all_found, random_cluster
from support.pipeline.increments import Interrupted, assert_increments_give_a_full_run
from support.pipeline.pipelines import SHORT_LIVED

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]

CLUSTERS = 1000
HOURS_MAX = 72


@pytest.fixture(scope="module")
def spark():
    settings = SessionSettings(master="local[2]", driver_memory="2g", partitions=2, more=SHORT_LIVED)
    with open_session(settings, "tests") as session:
        yield session


@pytest.mark.parametrize("number", range(4))
def test_increments_of_random_fleets_give_the_tables_of_a_full_run(spark, tmp_path, number):
    seed = random.randrange(2**32)
    print("seed", seed)
    tables = Interrupted(spark, str(tmp_path / "tables"))
    assert_increments_give_a_full_run(tables, random.Random(seed), pieces=4, in_order=number == 0)


@pytest.mark.parametrize("number", range(2))
def test_all_days_of_random_clusters_that_differ_are_found(spark, monkeypatch, number):
    for module in (hours_module, reach):
        monkeypatch.setattr(module, "INTERVAL_HOURS_MAX", HOURS_MAX)
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    assert_all_found(Fleet(spark, [each for cluster in range(CLUSTERS) for each in random_cluster(rng, f"c{cluster}")]))
