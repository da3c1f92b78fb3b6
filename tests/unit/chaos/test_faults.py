"""Faults start and end at their planned times."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from chaos.faults import agent_faults, broker_faults
from chaos.faults.agent_faults import MEMORY_BYTES, MOMENT
from chaos.faults.faults import inject
from chaos.faults.schedule import Fault


class Watched:
    """An observer that reads old records in each of its lives, or never does; actions are recorded as words."""

    def __init__(self, *, reads):
        self.done = []
        self.start = lambda: self.done.append("started")
        self.life = SimpleNamespace(
            kill=lambda: self.done.append("killed"), reads_past=lambda: self._past(reads), ready=lambda: False
        )

    def _past(self, reads):
        self.done.append("reads" if reads else "waited")
        return reads


@pytest.mark.parametrize("reads", [True, False])
def test_an_agent_is_killed_twice_while_it_reads_old_records_and_not_before(reads):
    observer = Watched(reads=reads)
    context = SimpleNamespace(observer=observer, wait=observer.done.append)
    inject(context, Fault(0.0, "agent killed while it starts", 2.0, 1))
    amid = ["started", "reads" if reads else "waited", 2.0 * MOMENT if reads else 0, "killed"]
    assert observer.done == ["killed", *amid, *amid, "started"]


class Met:
    """An agent that records the actions on it."""

    def __init__(self):
        self.done = []
        self.set_clock = self.done.append
        self.start = lambda: self.done.append("started")
        self.life = SimpleNamespace(
            running=True, limit_memory=self.done.append, kill=lambda: self.done.append("killed")
        )


def wait(_seconds, then=lambda: None):
    then()


@pytest.mark.parametrize(
    ("name", "meets", "done"),
    [
        ("agent out of memory", "observer", [MEMORY_BYTES, None, "killed", "started"]),
        ("sidecar out of memory", "sidecar", [MEMORY_BYTES, None, "killed", "started"]),
        ("clock set back", "observer", [-7_000, 0]),
        ("clock set forward", "observer", [7_000, 0]),
        ("sidecar clock set back", "sidecar", [-7_000, 0]),
        ("sidecar clock set forward", "sidecar", [7_000, 0]),
    ],
)
def test_memory_and_clock_faults_affect_the_named_agent_and_end(name, meets, done):
    context = SimpleNamespace(observer=Met(), sidecar=Met(), wait=wait)
    inject(context, Fault(0.0, name, 7, 1))
    assert {each for each in ("observer", "sidecar") if getattr(context, each).done} == {meets}
    assert getattr(context, meets).done == done


def test_a_flooded_sidecar_has_recovered_once_it_accepts_a_post(monkeypatch):
    answers, posted = [ConnectionResetError(), (503, ""), (429, ""), (200, "")], []

    def http(url, body):
        posted.append((url, body))
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(agent_faults, "http", http)
    monkeypatch.setattr(agent_faults, "run_program", lambda *_: "{}")
    sidecar = SimpleNamespace(life=SimpleNamespace(port=2, ready=lambda: True))
    inject(SimpleNamespace(sidecar=sidecar, events="127.0.0.1:1"), Fault(0.0, "sidecar flooded", 2, 1))
    assert answers == []
    assert {url for url, _ in posted} == {"http://127.0.0.1:1/v1/events"}
    assert all(body for _, body in posted)


def test_coordinators_have_moved_when_kafkas_tool_confirms_it(monkeypatch, tmp_path):
    codes, asked = [1, 1, 0, 1], []

    def run_tool(name, *_, **__):
        asked.append(name.rpartition(".")[2])
        return SimpleNamespace(returncode=codes.pop(0), stdout="", stderr="a reassignment is under way")

    topic = SimpleNamespace(partitions={0: SimpleNamespace(replicas=[1, 2, 3]), 1: SimpleNamespace(replicas=[2, 3, 1])})
    described = SimpleNamespace(list_topics=lambda *_: SimpleNamespace(topics={broker_faults.OFFSETS: topic}))
    monkeypatch.setattr(broker_faults, "AdminClient", lambda _: described)
    kafka = SimpleNamespace(bootstrap_servers="", directory=tmp_path, run_tool=run_tool)
    inject(SimpleNamespace(kafka=kafka), Fault(0.0, "coordinators moved", 1, 1))
    assert asked == ["ReassignPartitionsCommand"] * 3 + [broker_faults.ELECTION]
    moved = json.loads((tmp_path / "moved.json").read_text())["partitions"]
    assert [each["replicas"] for each in moved] == [[2, 3, 1], [3, 1, 2]]
