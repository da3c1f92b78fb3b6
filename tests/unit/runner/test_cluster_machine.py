"""The node runs once per machine, and changes nothing else on it."""

import os
import subprocess
import sys

import pytest

from support.cluster import cgroups
from support.cluster.machine import BusyError, reserved

HOLDS = """
import sys
from pathlib import Path
from support.cluster.machine import reserved
with reserved(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_fails_with_the_other_process_and_a_remedy(tmp_path):
    lock = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDS, str(lock)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(BusyError, match=rf"process {other.pid}\): wait for it, or end it"), reserved(lock):
            pass
        other.kill()
    with reserved(lock):
        assert lock.read_text() == str(os.getpid())


def hierarchy(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.procs").touch()
    return folder


@pytest.fixture(params=["version 1", "version 2"])
def hierarchies(request, tmp_path):
    if request.param == "version 2":
        return [hierarchy(tmp_path)]
    return [hierarchy(tmp_path / name) for name in ("cpu,cpuacct", "memory")]


def test_the_nodes_cgroups_are_created_and_removed_and_those_of_another_kubelet_stay(tmp_path, hierarchies):
    others = [each / "kubepods" / "pod1" for each in hierarchies]
    for each in others:
        each.mkdir(parents=True)
    cgroups.make(tmp_path)
    cgroups.make(tmp_path)  # after a killed run
    for each in hierarchies:
        (each / cgroups.NAME / "kubepods" / "pod1").mkdir(parents=True)
    cgroups.remove(tmp_path)
    assert [each for each in hierarchies if (each / cgroups.NAME).exists()] == []
    assert [each for each in others if not each.exists()] == []
    cgroups.remove(tmp_path)
