"""Compiles ``clients-java`` and a member that uses it, against Kafka clients of a version.

Eclipse's compiler needs only a Java runtime, which is the embedded Kafka's.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from rebalance_agent.artifacts.fetching import cache_directory, ensure_artifacts
from rebalance_agent.artifacts.lockfile import parse_lock
from rebalance_agent.testing.kafka.java import java_runtime
from support.members.member_lines import ProcessMember

HERE = Path(__file__).parent
SOURCES = HERE.parents[2] / "clients-java" / "src" / "main" / "java"
RELEASE = "11"
COMPILE_S = 300
DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
WRAPPER = "rebalanceagent.client.InstrumentedAssignor"
REPORTER = "rebalanceagent.client.RebalanceReporter"


def kafka_clients(version):
    """The jars of Kafka's clients: those in the lock file of ``version``, or, without one, the embedded Kafka's."""
    lock = HERE / f"kafka-clients-{version}.lock"
    return _locked(lock) if lock.exists() else java_runtime().jars


def spring_kafka():
    """The jars of Spring for Apache Kafka and of all that it needs, with its own version of Kafka's clients."""
    return _locked(HERE / "spring-kafka-4.0.0.lock")


def _locked(lock):
    return ensure_artifacts(parse_lock(lock.read_text(encoding="ascii")), cache_directory(), title=lock.stem)


def compiled(jars, folder):
    """The class path of the wrapper, the member and ``jars``."""
    return compiled_sources(jars, folder / "classes", SOURCES, HERE / "member")


def compiled_sources(jars, classes, *sources):
    """Compile ``sources`` into the folder ``classes``; warnings are errors. Return the class path with ``jars``."""
    (compiler,) = _locked(HERE / "ecj.lock")
    path = os.pathsep.join(map(str, jars))
    options = ["-source", RELEASE, "-target", RELEASE, "-proc:none", "-failOnWarning", "-d", str(classes), "-cp", path]
    command = [java_runtime().java, "-jar", compiler, *options, *sources]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=COMPILE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return os.pathsep.join((str(classes), path))


def compiled_member(jars, folder):
    """The class path of the member alone and ``jars``: also for clients that are older than the wrapper supports."""
    return compiled_sources(jars, folder / "classes", HERE / "member")


def wrapped_member(class_path, bootstrap, group, topic, client_id, callback_ms, url, *, reads=False, **properties):
    """Java's consumer with a wrapped assignor; a property of None is omitted, dots are underscores.

    ``reads``: it prints the records that it reads, too.
    """
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": client_id,
        "partition.assignment.strategy": WRAPPER,
        "metric.reporters": REPORTER,
        "rebalance.agent.events.url": url,
        "auto.offset.reset": "earliest",
        "heartbeat.interval.ms": "200",
        "key.deserializer": DESERIALIZER,
        "value.deserializer": DESERIALIZER,
        **{name.replace("_", "."): value for name, value in properties.items()},
    }
    pairs = [f"{name}={value}" for name, value in settings.items() if value is not None]
    flags = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    if reads:
        flags.append("-Dreads=true")
    command = [java_runtime().java, *flags, "-cp", class_path, "WrappedMember", topic, str(callback_ms), *pairs]
    return ProcessMember(list(map(str, command)))
