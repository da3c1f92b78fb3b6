"""The Spark session: the only place with Spark's configuration.

On its own (``python``, ``rebalance-agent pipeline``) it is a local Spark by default, bound to loopback, with the locked
jars. Under ``spark-submit`` master, memory, jars and addresses are the submission's, and only what the tables' meaning
depends on is set.
"""

from __future__ import annotations

import os
import pwd
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.spark.spark_jars import spark_jars
from rebalance_agent.pipeline.spark.spark_java import find_java_home
from rebalance_agent.pipeline.spark.warehouse_folder import remove_at_exit

__all__ = ["SessionSettings", "open_session", "spark_session"]

_LOOPBACK = "127.0.0.1"

_LOGGING = Path(__file__).with_name("log4j2.properties")
"""Errors only: what a run has to say, its stages say."""

_LINE_MAX = 500

_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseParallelGC"
"""Half of a short run's CPU went into compiling Java well that runs once; what takes long in a long one is Python.

With this compiler alone Java keeps 48 MB for what it compiled, and when they are full goes on without compiling.
"""

_MEANING: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Events of very large groups have a megabyte, and Spark counts rows: a batch of them is one array in Java, or more.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(32 * 2**20),
    "spark.sql.inMemoryColumnarStorage.batchSize": "100",
    "spark.sql.parquet.columnarReaderBatchSize": "100",
    # Else an internal topic has no rows, without a word.
    "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "true",
    # A file with a broken end is found out, and not read as if that was all.
    "spark.sql.files.ignoreCorruptFiles": "false",
    # What is merged is persisted, or computed by pure functions: no copy is needed for it to be the same twice.
    "spark.databricks.delta.merge.materializeSource": "none",
    # Few rows have a key twice. Spark would sort all of them to drop these before it moves and sorts them.
    "spark.sql.optimizer.windowGroupLimitThreshold": "-1",
    # What one task can read of a file. Events are packed to a tenth: of 128 MB many a table would be read by one task.
    "spark.hadoop.parquet.block.size": str(8 * 2**20),
    # Else sizes are looked at for every hundredth row only, and a page is unpacked as a whole.
    "spark.hadoop.parquet.block.size.row.check.min": "4",
    "spark.hadoop.parquet.page.size.row.check.min": "4",
    "spark.databricks.delta.properties.defaults.autoOptimize.autoCompact": "true",
    "spark.databricks.delta.properties.defaults.autoOptimize.optimizeWrite": "true",
}
"""What tables and results depend on, wherever it runs."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """``master``: Spark's, None for one thread per processor here. ``partitions``: of shuffles, None: one per thread.

    ``driver_memory``: of the one process that a local Spark is. ``more``: Spark properties that win over ours.
    """

    master: str | None = None
    driver_memory: str = "2g"
    partitions: int | None = None
    ui: bool = False
    more: Mapping[str, str] | None = None


@contextmanager
def open_session(settings: SessionSettings | None = None, name: str = "rebalance-agent") -> Iterator[SparkSession]:
    """`spark_session`, stopped at the end of the block.

    Raises:
        PipelineError: Spark ended the block with an error of its own, in one line; the whole of it is its cause.
            Or Java has ended.
    """
    session = spark_session(settings, name)
    try:
        yield session
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise PipelineError(_why(session, error)) from error
    finally:
        with suppress(Py4JError, ConnectionError):  # where there is no Java any more
            session.stop()


def spark_session(settings: SessionSettings | None = None, name: str = "rebalance-agent") -> SparkSession:
    """The session of this process, made if there is none.

    Raises:
        ArtifactError: the jars cannot be had.
        PipelineError: this user has no name, there is no Java that fits, or Spark does not start.
    """
    settings = settings or SessionSettings()
    builder = SparkSession.builder.appName(name)
    configuration = dict(_MEANING)
    if not _submitted():
        _require_name()
        configuration |= _own(settings)
        remove_at_exit()
    for key, value in {**configuration, **(settings.more or {})}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        where = settings.master or "this machine"
        raise PipelineError(f"Spark does not start on {where}: {_line(error)}") from error


def _require_name() -> None:
    """Hadoop asks for the user's name, and where there is none ends Java with what nobody understands."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        text = f"Spark needs a user with a name, and /etc/passwd has none for {os.getuid()}"
        raise PipelineError(f"{text}: run as one that it has, in our image 65532") from None


def _submitted() -> bool:
    """Whether ``spark-submit`` started this process: it has configured where and how to run."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _own(settings: SessionSettings) -> dict[str, str]:
    master = settings.master or "local[*]"
    os.environ["JAVA_HOME"] = str(find_java_home())
    configuration = {
        "spark.master": master,
        "spark.jars": ",".join(str(jar) for jar in spark_jars()),
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} -Duser.timezone=UTC",
        "spark.ui.enabled": str(settings.ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": Path(tempfile.gettempdir(), "rebalance-agent-warehouse").as_uri(),
    }
    if master.startswith("local"):
        threads = _threads(master)
        os.environ["SPARK_LOCAL_IP"] = _LOOPBACK
        os.environ["PYSPARK_PYTHON"] = sys.executable  # else whichever python3 is first on the PATH
        configuration |= {
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.sql.shuffle.partitions": str(settings.partitions or threads),
            "spark.driver.defaultJavaOptions": _QUICK_JAVA,
            # Each step of a plan would make the rest of it be planned anew, which takes longer than the step.
            "spark.sql.adaptive.enabled": "false",
            # Its 50 tasks for each look at a table's log take longer than the work itself.
            "spark.databricks.delta.snapshotPartitions": str(threads),
            # Nor are its 10,000 for each folder that is listed worth it, where removing old files lists all of them.
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(threads),
        }
    elif settings.partitions:
        configuration["spark.sql.shuffle.partitions"] = str(settings.partitions)
    return configuration


def _threads(master: str) -> int:
    number = master.removeprefix("local").strip("[]").partition(",")[0]
    if number == "*":
        return os.cpu_count() or 1
    return int(number) if number.isdecimal() else 1


def _why(session: SparkSession, error: Exception) -> str:
    with suppress(Py4JError, ConnectionError):
        session.version  # noqa: B018 - Java tells it, if it is there
        return f"Spark: {_line(error)}"
    return "Java has ended, most often for want of memory: what it said last is above, --driver-memory gives it more"


def _line(error: Exception) -> str:
    """The beginning of it: what Spark has to say comes before its traces."""
    return " ".join(str(error).split())[:_LINE_MAX]
