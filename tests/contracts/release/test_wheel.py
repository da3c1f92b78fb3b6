"""The wheel's contents and dependencies, which are enough for the commands without extras."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from rebalance_agent.testing.kafka.kafka_versions import VERSIONS

ROOT = Path(__file__).parents[3]

WITHOUT_PACKAGES = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from rebalance_agent.cli.main import main
code = main()
ours = {"rebalance_agent", "__main__"}
print(sorted({name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names) - ours), file=sys.stderr)
sys.exit(code)
"""
"""Run a command from the wheel in the first argument; print the imported third-party packages."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_a_release_is_the_same_bytes_each_time(tmp_path):
    """Each build gives the same bytes, so that a signed wheel can be reproduced."""
    built = []
    for number, umask in enumerate((0o022, 0o077)):
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path / str(number))]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1750000000"}
        subprocess.run(command, cwd=ROOT, env=environment, umask=umask, check=True, capture_output=True)
        built.append({each.name: each.read_bytes() for each in (tmp_path / str(number)).iterdir()})
    first, second = built
    assert {each.rpartition(".")[2] for each in first} == {"whl", "gz"}
    assert first == second


def _run(wheel, *arguments, stdin):
    """``-S``: without site-packages, as in an environment with only this wheel."""
    command = [sys.executable, "-S", "-c", WITHOUT_PACKAGES, str(wheel), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def test_the_wheel_contains_types_and_the_embedded_kafkas_checksums(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "rebalance_agent/py.typed" in names
    assert sorted(name for name in names if name.endswith(".lock")) == [
        "rebalance_agent/pipeline/spark/aws-msk-iam.lock",
        "rebalance_agent/pipeline/spark/spark-4.0.0.lock",
        *(f"rebalance_agent/testing/kafka/locks/kafka-{version}.lock" for version in sorted(VERSIONS)),
    ]
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"rebalance_agent", "kafka_rebalance_agent"}


@pytest.mark.parametrize("strategy", ["range", "cooperative-weighted-sticky"])
def test_assign_needs_no_other_package(wheel, strategy):
    group = {"topics": {"t": {"partitions": 2}}, "members": [{"id": "m", "topics": ["t"]}]}
    done = _run(wheel, "assign", "--strategy", strategy, "-", stdin=json.dumps(group))
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert json.loads(done.stdout)["assignment"] == {"m": {"t": [0, 1]}}


def test_decode_needs_no_other_package(wheel):
    key = base64.b64encode(b"\x00\x02\x00\x01g").decode()
    done = _run(wheel, "decode", stdin=json.dumps({"key": key, "value": None, "timestamp": 1}))
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert json.loads(done.stdout)["group"] == "g"


@pytest.mark.parametrize(
    ("command", "extra"),
    [("explain", "agent"), ("observe", "agent"), ("sidecar", "agent"), ("demo", "demo"), ("watch", "watch")],
)
def test_a_command_with_missing_packages_names_the_extra(wheel, command, extra):
    done = _run(wheel, command, stdin="")
    assert done.returncode == 2
    assert f"pip install '.[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
