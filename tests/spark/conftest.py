"""One Spark session for all tests of the tier, and separate tables for each test."""

import logging

import pytest
from pyspark import SparkContext

from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from support.aws.msk_iam import LOGIN
from support.pipeline.pipelines import SHORT_LIVED

TIMEOUT_S = 900
"""Seconds for a test with its fixtures: some of them start a Spark of their own and run all stages."""


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/spark/" in item.path.as_posix():
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))
            # PySpark drops a socket while it still reads its file.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def spark():
    """Two threads and a gigabyte, suitable for a laptop; with the jar and the region of MSK's login."""
    settings = SessionSettings(master="local[2]", driver_memory="1g", partitions=2, more=SHORT_LIVED, kafka=LOGIN)
    with open_session(settings, "tests") as session:
        logging.getLogger("py4j").setLevel(logging.WARNING)  # it logs each call if tests capture all levels
        yield session
    java = SparkContext._gateway.proc
    java.stdin.close()  # it ends by itself
    java.wait(60)  # so that its processor time counts as the tests'


@pytest.fixture
def tables(spark, tmp_path):
    """A folder of tables for this test only."""
    return DeltaTables(spark, str(tmp_path / "tables"))
