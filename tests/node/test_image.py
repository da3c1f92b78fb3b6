"""The images in containers with the least privileges: user, root, size, start."""

from __future__ import annotations

import json

import pytest

from rebalance_agent import __version__
from support.cluster import images
from support.helm.release import IMAGE, PIPELINE_IMAGE

BYTES_MAX = 60_000_000
"""Bytes that we add to the base image: the agent with its packages. 46 MB when this was written."""

START_CPU_SECONDS_MAX = 3
"""Processor time from its start to its end; wall-clock time depends on the machine's load. 0.74 s when this
was written."""

ABSENT = ("cc", "curl", "gcc", "make", "pip", "pip3")

LOOK = """\
import importlib.util, json, os, shutil
def writable(path):
    try:
        open(os.path.join(path, "probe"), "w").close()
    except OSError as error:
        return error.strerror
def size(path):
    return sum(os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(path) for name in names)
print(json.dumps({
    "ids": [os.getuid(), os.getgid()],
    "pip": importlib.util.find_spec("pip") is not None,
    "programs": [name for name in %s if shutil.which(name)],
    "root": writable("/"),
    "own": writable("/opt/rebalance-agent"),
    "bytes": size("/opt/rebalance-agent"),
}))
"""

START = """\
import json, resource, socket, subprocess, threading, time
began, never = time.monotonic(), threading.Event()
agent = subprocess.Popen(["rebalance-agent", "observe", "--idle"], stderr=subprocess.DEVNULL)
while agent.poll() is None:
    try:
        socket.create_connection(("127.0.0.1", 29308)).close()
        break
    except OSError:
        never.wait(0.01)
seconds = time.monotonic() - began
agent.terminate()
status = agent.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"status": status, "seconds": seconds, "cpu": used.ru_utime + used.ru_stime}))
"""


@pytest.mark.parametrize("reference", [IMAGE, PIPELINE_IMAGE])
def test_the_image_has_labels_and_runs_as_non_root_by_default(archives, reference):
    configured = images.configured(reference)
    assert configured["User"] == "65532:65532"
    assert configured["Entrypoint"] == ["rebalance-agent"]
    labels = {name.removeprefix("org.opencontainers.image."): text for name, text in configured["Labels"].items()}
    assert labels["version"] == __version__
    assert all(labels[name] for name in ("description", "licenses", "revision", "title"))


def test_the_image_starts_quickly(run):
    seen = json.loads(run("start", command=["python", "-c", START]).splitlines()[-1])
    assert seen["status"] == 0
    assert seen["cpu"] < START_CPU_SECONDS_MAX


def test_the_image_is_small_and_runs_as_non_root_with_a_read_only_root(run):
    seen = json.loads(run("look", command=["python", "-c", LOOK % (ABSENT,)]))
    assert seen.pop("bytes") < BYTES_MAX
    assert seen == {
        "ids": [65532, 65532],
        "pip": False,
        "programs": [],
        "root": "Read-only file system",
        "own": "Read-only file system",
    }


def test_the_entry_point_is_the_agent(run):
    assert run("version", args=["--version"]).startswith("rebalance-agent ")


def test_the_pipeline_runs_without_a_network(run):
    """Spark's jars and its Java are in the image; brokers and all other addresses are unreachable."""
    stages = (
        "rebalance-agent pipeline synthesize --groups 2 --days 1 --seed 1 --out /tmp/history >/dev/null && "
        "rebalance-agent pipeline run --events /tmp/history --tables /tmp/tables --report /tmp/report.html"
    )
    reported = run("pipeline", image=PIPELINE_IMAGE, command=["sh", "-c", stages])
    result = json.loads(reported.splitlines()[-1])
    assert result["broken"] == 0
    assert result["groups"] == 2
