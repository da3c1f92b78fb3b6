"""The cluster setup of docs/pipeline.md: workers without our packages get them from the driver."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tarfile
import urllib.request
from contextlib import ExitStack, contextmanager
from importlib.metadata import distribution
from pathlib import Path

import pyspark
import pytest
from confluent_kafka import Producer
from packaging.requirements import Requirement

from rebalance_agent.pipeline.spark.spark_jars import spark_jars
from rebalance_agent.pipeline.spark.spark_java import find_java_home
from support.aws.msk_iam import LOGIN, aws_environment, msk_kafka
from support.observer.observing import create_topic, eventually
from support.pipeline.pipelines import ANY_AGE, LINES, SHORT_LIVED

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SPARK = Path(pyspark.__file__).parent
BARE_PYTHON = Path(sys.base_prefix, "bin", "python3")
MAIN = "import sys\nfrom rebalance_agent.cli.main import main\nsys.exit(main())\n"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def installed_files(*wanted):
    """Name and path of each file of these packages and their dependencies, as in ``pip install --target``."""
    names, left = set(), list(wanted)
    while left:
        found = distribution(left.pop())
        names.add(found.name)
        for file in found.files:
            if ".." not in file.parts and "tests" not in file.parts:
                yield str(file), file.locate()
        needed = (Requirement(each) for each in found.requires or ())
        left += [each.name for each in needed if each.name not in names and (not each.marker or each.marker.evaluate())]


@contextmanager
def daemon(environment, folder, *arguments):
    """A master or worker, ended with the block."""
    with (folder / "daemon.log").open("ab") as log:
        process = subprocess.Popen(
            [SPARK / "bin" / "spark-class", *arguments],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def cluster(tmp_path):
    """A standalone master with two workers of one core each: its address, and the environment for spark-submit."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))},
        "JAVA_HOME": str(find_java_home()),
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
    }
    port, page = free_port(), free_port()
    address, host = f"spark://127.0.0.1:{port}", ("--host", "127.0.0.1")
    with ExitStack() as running:
        master = ("org.apache.spark.deploy.master.Master", *host, "--port", str(port), "--webui-port", str(page))
        running.enter_context(daemon(environment, tmp_path, *master))
        for number in range(2):
            folder = tmp_path / f"worker-{number}"
            folder.mkdir()
            worker = ("org.apache.spark.deploy.worker.Worker", *host, "--cores", "1", "--memory", "1g", "--webui-port",
                      str(free_port()), "--work-dir", str(folder), address)  # fmt: skip
            running.enter_context(daemon(environment, folder, *worker))

        def workers():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
                    return json.load(answer)["aliveworkers"]
            except OSError:
                return 0

        eventually(lambda: workers() == 2, 180)
        yield address, environment


def submitted(cluster, folder, jars, *arguments):
    """The last line of a stage on the cluster, whose workers have none of our packages."""
    address, environment = cluster
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    package = wheel.rename(folder / "rebalance_agent.zip")  # Spark adds no wheels to its workers' path
    with tarfile.open(folder / "dependencies.tar.gz", "w:gz", compresslevel=1) as archive:
        for name, path in installed_files("pandas", "pyarrow"):
            archive.add(path, name)
    (folder / "pipeline.py").write_text(MAIN)
    submit = [
        SPARK / "bin" / "spark-submit", "--master", address, "--deploy-mode", "client",
        "--driver-memory", "1g", "--executor-memory", "768m",
        "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1",
        "--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2",
        "--conf", "spark.executorEnv.PYTHONPATH=./dependencies",
        *(word for name, value in SHORT_LIVED.items() for word in ("--conf", f"{name}={value}")),
        "--conf", "spark.executor.defaultJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "--jars", ",".join(map(str, jars)),
        "--py-files", str(package), "--archives", f"{folder / 'dependencies.tar.gz'}#dependencies",
        str(folder / "pipeline.py"), "pipeline", *arguments, "--tables", str(folder / "tables"),
    ]  # fmt: skip
    python = {"PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": str(BARE_PYTHON)}
    done = subprocess.run(
        submit, cwd=folder, env=environment | python, capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, done.stderr[-6000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_workers_without_our_packages_do_the_work(cluster, tmp_path):
    bare = subprocess.run([BARE_PYTHON, "-c", "import pyarrow, rebalance_agent"], capture_output=True, check=False)
    assert bare.returncode != 0
    events = tmp_path / "events"
    events.mkdir()
    lines = (ROOT / "tests" / "golden" / "captured_topic_events.ndjson").read_bytes()
    (events / "events-1.ndjson").write_bytes(lines)
    summary = submitted(cluster, tmp_path, spark_jars(), "run", "--events", str(events))
    reported = [json.loads(line) for line in lines.splitlines()]
    assert summary["events"] == len(reported)
    assert summary["generations"] == sum(each["kind"] == "generation" for each in reported)
    assert summary["fidelity"]["moves"] in (None, 1.0)


@pytest.fixture
def keys(monkeypatch):
    """AWS keys in the environment of driver and workers; no region."""
    aws_environment(monkeypatch)


@pytest.mark.timeout(900)
def test_executors_log_in_with_iam_tokens_and_get_the_region_from_the_driver(keys, cluster, tmp_path):
    folder = tmp_path / "broker"
    folder.mkdir()
    with msk_kafka(folder) as kafka:
        create_topic(kafka.bootstrap_servers, "iam-events", 2)
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
        for line in LINES:
            producer.produce("iam-events", line)
        assert producer.flush(60) == 0
        login = {"bootstrap.servers": kafka.address("IAM"), **LOGIN}
        flags = [word for name, value in login.items() for word in ("--kafka", f"{name}={value}")]
        stage = ("ingest", "--topic", "iam-events", "--max-age-days", str(ANY_AGE), "--dry-run")
        summary = submitted(cluster, tmp_path, spark_jars("aws-msk-iam"), *stage, *flags)
    assert summary["events"] + summary["rejected"] == len(LINES)
