"""Creates the Spark session; the only module with Spark's configuration.

A session that ``python`` or ``rebalance-agent pipeline`` starts uses a local Spark by default, bound to loopback, with
the locked jars. Under ``spark-submit``, the submission sets master, memory, jars and addresses, and this module adds
only the settings that affect results (`_MEANING`).
"""

from __future__ import annotations

import os
import pwd
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rebalance_agent.pipeline.errors import PipelineError, one_line
from rebalance_agent.pipeline.spark import worker_daemon
from rebalance_agent.pipeline.spark.session_end import stopping
from rebalance_agent.pipeline.spark.spark_jars import spark_jars
from rebalance_agent.pipeline.spark.spark_java import find_java_home
from rebalance_agent.pipeline.spark.token_logins import executor_settings, prepare_driver, token_method
from rebalance_agent.pipeline.spark.warehouse_folder import remove_at_exit

__all__ = ["SessionSettings", "open_session", "spark_session", "submitted"]

_LOOPBACK = "127.0.0.1"

_LOGGING = Path(__file__).with_name("log4j2.properties")
"""Log4j configuration: errors only, since the stages report progress themselves."""

_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseParallelGC"
"""Java options for a local Spark: only the fast first-tier compiler.

Optimising code that runs only once took half the CPU time of a short run; long runs spend their time in Python. With
this compiler alone, the default code cache is 48 MB. Java stops compiling when it is full, so it is larger here.
"""

_MEANING: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # An event of a very large group takes a megabyte; these limits keep a batch of such rows within Java's arrays.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(32 * 2**20),
    "spark.sql.inMemoryColumnarStorage.batchSize": "100",
    "spark.sql.parquet.columnarReaderBatchSize": "100",
    # Without it Spark silently reads no rows from an internal topic.
    "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "true",
    # A truncated file must be an error, not a shorter result.
    "spark.sql.files.ignoreCorruptFiles": "false",
    # Merge sources are persisted or computed by pure functions, so two reads give the same rows without a copy.
    "spark.databricks.delta.merge.materializeSource": "none",
    # Few keys are duplicates, so one more sort before the shuffle, to drop duplicates early, costs more than it saves.
    "spark.sql.optimizer.windowGroupLimitThreshold": "-1",
    # One task reads one row group. Events compress to a tenth, so with 128 MB one task would read a whole table.
    "spark.hadoop.parquet.block.size": str(8 * 2**20),
    # By default the size is checked only every 100 rows, and a reader unpacks each page as a whole.
    "spark.hadoop.parquet.block.size.row.check.min": "4",
    "spark.hadoop.parquet.page.size.row.check.min": "4",
    "spark.databricks.delta.properties.defaults.autoOptimize.autoCompact": "true",
    "spark.databricks.delta.properties.defaults.autoOptimize.optimizeWrite": "true",
}
"""Settings that tables and results depend on, applied wherever Spark runs."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Settings of a session that ``spark-submit`` did not start.

    ``master``: Spark's master URL; None for a local Spark with one thread per processor. ``driver_memory``: Java heap
    of the driver, the only Java process of a local Spark. ``partitions``: number of shuffle partitions; None for one
    per thread. ``more``: Spark properties that override all other properties, also under ``spark-submit``. ``kafka``:
    client properties of the cluster that the session reads or writes; a login may need a jar and settings.
    """

    master: str | None = None
    driver_memory: str = "2g"
    partitions: int | None = None
    ui: bool = False
    more: Mapping[str, str] | None = None
    kafka: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def open_session(settings: SessionSettings | None = None, name: str = "rebalance-agent") -> Iterator[SparkSession]:
    """Open a `spark_session`, and stop it at the end of the block.

    Raises:
        PipelineError: Spark raised an error in the block (shortened to one line; the original is the cause), its Java
            process has ended, or it does not have the Java library of a login.
    """
    session = spark_session(settings, name)
    with stopping(session):
        try:
            prepare_driver(session, settings.kafka if settings else {})
            yield session
        except (PySparkException, Py4JError, ConnectionError) as error:
            raise PipelineError(_why(session, error)) from error


def spark_session(settings: SessionSettings | None = None, name: str = "rebalance-agent") -> SparkSession:
    """Return the session of this process, and create it if it does not exist.

    Raises:
        ArtifactError: the jars cannot be fetched.
        PipelineError: the user has no name, there is no suitable Java, or Spark does not start.
    """
    settings = settings or SessionSettings()
    builder = SparkSession.builder.appName(name)
    configuration = {**_MEANING, **executor_settings(settings.kafka)}
    if not submitted():
        _require_name()
        configuration |= _own(settings)
        remove_at_exit()
    for key, value in {**configuration, **(settings.more or {})}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        where = settings.master or "this machine"
        raise PipelineError(f"Spark does not start on {where}: {one_line(error)}") from error


def _require_name() -> None:
    """Raise a clear error if the user has no name: Hadoop needs a name, and Hadoop's own error is obscure."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        text = f"Spark needs a user with a name, and /etc/passwd has none for {os.getuid()}"
        raise PipelineError(f"{text}: run as a user in that file (in our image: 65532)") from None


def submitted() -> bool:
    """Return whether ``spark-submit`` started this process and so has configured where and how Spark runs."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _own(settings: SessionSettings) -> dict[str, str]:
    master = settings.master or "local[*]"
    os.environ["JAVA_HOME"] = str(find_java_home())
    configuration = {
        "spark.master": master,
        "spark.jars": ",".join(str(jar) for jar in spark_jars(token_method(settings.kafka))),
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
            "spark.python.daemon.module": worker_daemon.__name__,
            # Adaptive execution plans again after each step, which takes longer than the (small) step itself.
            "spark.sql.adaptive.enabled": "false",
            # The default of 50 tasks for each read of a table's log takes longer than the work itself.
            "spark.databricks.delta.snapshotPartitions": str(threads),
            # The default of up to 10,000 tasks for listing folders does not pay on one machine, either.
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
        session.version  # noqa: B018 - asks Java, and fails without it
        return f"Spark: {one_line(error)}"
    return "Java ended, usually because of too little memory: see its last output above, or raise --driver-memory"
