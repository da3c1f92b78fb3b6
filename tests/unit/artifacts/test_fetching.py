from __future__ import annotations

import hashlib
import io
from pathlib import Path
from threading import Barrier, Thread

import pytest

from rebalance_agent.artifacts import lock
from rebalance_agent.artifacts.download_progress import download_progress
from rebalance_agent.artifacts.errors import ArtifactError
from rebalance_agent.artifacts.fetching import ATTEMPTS_MAX, cache_directory, ensure_artifacts
from rebalance_agent.artifacts.lock import lock_text
from rebalance_agent.artifacts.lockfile import Artifact, parse_lock
from rebalance_agent.testing.kafka.kafka_versions import VERSIONS, kafka_version

CONTENT = {"a": b"one jar", "b": b"another jar"}


def artifact(name: str) -> Artifact:
    return Artifact("g", name, "1", "", hashlib.sha256(CONTENT[name]).hexdigest(), len(CONTENT[name]))


ARTIFACTS = [artifact("a"), artifact("b")]


def serve(each: Artifact, directory: Path) -> Path:
    path = directory / "download"
    path.write_bytes(CONTENT[each.name])
    return path


def test_a_lock_line_has_coordinates_checksum_and_size():
    digest = "0" * 64
    text = f"# comment\n\norg.a:b:1.0 {digest} 7\norg.a:c:2:linux {digest} 8 # why\n"
    assert parse_lock(text) == (
        Artifact("org.a", "b", "1.0", "", digest, 7),
        Artifact("org.a", "c", "2", "linux", digest, 8),
    )


@pytest.mark.parametrize(
    "line",
    [
        "org.a:b:1.0",
        f"org.a:b {'0' * 64} 7",
        f"org.a:b:1 {'0' * 63} 7",
        f"org.a:b:1 {'0' * 64} 7 8",
        f"org.a:b:1 {'0' * 64} -7",
        f"../a:b:1/ {'0' * 64} 7",
        f"a:b:1:c:d {'0' * 64} 7",
    ],
)
def test_an_invalid_lock_line_is_named(line):
    with pytest.raises(ArtifactError, match="line 2"):
        parse_lock(f"# head\n{line}\n")


@pytest.mark.parametrize("version", VERSIONS)
def test_each_committed_lock_has_a_broker_and_a_logger_and_no_jar_twice(version):
    artifacts = kafka_version(version).artifacts
    names = {(each.group, each.name) for each in artifacts}
    assert {name for _, name in names} >= {"kafka_2.13", "kafka-clients", "kafka-group-coordinator", "slf4j-simple"}
    assert ("org.apache.kafka", "kafka-tools") in names or version in ("3.9.2", "4.0.2", "4.1.2")
    assert len(names) == len(artifacts)
    assert {each.version for each in artifacts if each.group == "org.apache.kafka"} == {version}


def test_a_written_lock_is_read_back_sorted():
    assert parse_lock(lock_text(ARTIFACTS[::-1], ["g:a:1"])) == tuple(ARTIFACTS)


def test_a_jar_that_contains_its_dependencies_is_locked_alone(tmp_path, monkeypatch):
    def fetched(artifact, directory):
        path = directory / artifact.jar_name
        path.write_bytes(b"jar")
        return path

    monkeypatch.setattr(lock.registry, "fetch", fetched)
    monkeypatch.setattr(lock.registry, "resolve", None)
    file = tmp_path / "jars.lock"
    assert lock.main([str(file), "--alone", "g:a:1:all"]) == 0
    assert lock.main([str(file), "--alone"]) == 0  # its own root again
    (found,) = parse_lock(file.read_text())
    assert (found.coordinate, found.size) == ("g:a:1:all", 3)


def test_a_file_is_downloaded_once_and_then_reused(tmp_path):
    first = ensure_artifacts(ARTIFACTS, tmp_path, serve)
    assert [path.read_bytes() for path in first] == [CONTENT["a"], CONTENT["b"]]

    def refuse(each, _directory):
        raise AssertionError(each)

    assert ensure_artifacts(ARTIFACTS, tmp_path, refuse) == first
    assert sorted(path.name for path in (tmp_path / "jars").iterdir()) == sorted(path.name for path in first)


def test_a_truncated_file_in_the_cache_is_downloaded_again(tmp_path):
    path = ensure_artifacts(ARTIFACTS, tmp_path, serve)[0]
    path.write_bytes(b"half")
    assert ensure_artifacts(ARTIFACTS, tmp_path, serve)[0].read_bytes() == CONTENT["a"]


def test_a_changed_file_of_the_same_size_is_downloaded_again_or_refused(tmp_path):
    path = ensure_artifacts(ARTIFACTS, tmp_path, serve)[0]
    path.write_bytes(b"evil".ljust(len(CONTENT["a"])))

    def fail(_each, _directory):
        raise ConnectionError("no route to host")

    with pytest.raises(ArtifactError, match="cannot fetch g:a:1"):
        ensure_artifacts(ARTIFACTS, tmp_path, fail)
    assert ensure_artifacts(ARTIFACTS, tmp_path, serve)[0].read_bytes() == CONTENT["a"]


def test_a_download_with_a_wrong_checksum_is_refused_and_removed(tmp_path):
    def tamper(each, directory):
        path = serve(each, directory)
        path.write_bytes(b"evil jar"[: each.size].ljust(each.size))
        return path

    with pytest.raises(ArtifactError, match=r"g:a:1 has sha256 .* but the lock file has"):
        ensure_artifacts(ARTIFACTS[:1], tmp_path, tamper)
    assert list((tmp_path / "jars").iterdir()) == []


def test_a_failed_download_is_retried_from_an_empty_directory(tmp_path):
    seen = []

    def flaky(each, directory):
        seen.append(list(directory.iterdir()))
        if len(seen) < ATTEMPTS_MAX:
            (directory / "download").write_bytes(b"partial")
            raise ConnectionError("reset")
        return serve(each, directory)

    ensure_artifacts(ARTIFACTS[:1], tmp_path, flaky)
    assert seen == [[]] * ATTEMPTS_MAX


def test_without_a_network_the_error_has_a_remedy(tmp_path):
    def fail(_each, _directory):
        raise ConnectionError("no route to host")

    with pytest.raises(ArtifactError, match=r"cannot fetch g:a:1 .*no route to host.*REBALANCE_AGENT_CACHE"):
        ensure_artifacts(ARTIFACTS[:1], tmp_path, fail)


def test_the_error_of_a_cache_that_cannot_be_written_has_a_remedy(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ArtifactError, match="REBALANCE_AGENT_CACHE"):
        ensure_artifacts(ARTIFACTS, tmp_path / "file", serve)


def test_two_concurrent_callers_download_once(tmp_path):
    asked = []
    ready = Barrier(2)

    def count(each, directory):
        asked.append(each.name)
        return serve(each, directory)

    def run():
        ready.wait()
        ensure_artifacts(ARTIFACTS, tmp_path, count)

    threads = [Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(asked) == ["a", "b"]


def test_the_environment_sets_the_folder_of_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("REBALANCE_AGENT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_directory() == tmp_path / ".cache" / "rebalance-agent"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "rebalance-agent"
    monkeypatch.setenv("REBALANCE_AGENT_CACHE", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"


def test_progress_is_one_line_if_the_output_is_no_terminal(tmp_path):
    stream = io.StringIO()
    with download_progress("kafka", 2, 3_000_000, tmp_path, stream) as advance:
        advance(1_000_000)
        advance(2_000_000)
    assert stream.getvalue() == f"kafka: downloading 2 files (3 MB) to {tmp_path}\n"
