"""A process of an agent must end as intended, with the expected exit code."""

from __future__ import annotations

import signal
import sys
from types import SimpleNamespace

import pytest

from chaos.processes import agents
from chaos.processes.agents import Agent
from chaos.verdict.oracle import ended
from support.observer.observing import eventually

PROGRAM = """\
import json, signal, sys
code, listens, by_itself = json.loads(sys.argv[1])
if code is not None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print(json.dumps({"event": "listening", "port": 1} if listens else {"event": "began"}), file=sys.stderr, flush=True)
if not by_itself:
    signal.pause() if code is None else signal.sigwait([signal.SIGTERM])
sys.exit(code)
"""


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """Makes an agent that ends on SIGTERM, or by itself, with this exit code (None: SIGTERM is not handled)."""

    def make(code, *, listens=True, by_itself=False):
        text = f"[{'null' if code is None else code}, {str(listens).lower()}, {str(by_itself).lower()}]"
        monkeypatch.setattr(agents, "EXIT_WITH_PARENT", (sys.executable, "-c", PROGRAM, text))
        made = Agent(tmp_path, "sidecar", [])
        made.start()
        eventually(lambda: made.life.log.exists() and made.life.log.read_text().endswith("\n"))
        return made

    return make


@pytest.mark.parametrize(
    ("code", "listens", "reported"),
    [
        (0, True, None),
        (0, False, None),
        (1, True, "sidecar-1 ended on SIGTERM with exit code 1"),
        (1, False, "sidecar-1 ended on SIGTERM with exit code 1"),
        (None, True, f"sidecar-1 ended on SIGTERM with exit code {-signal.SIGTERM}"),
        (None, False, None),
    ],
)
def test_a_stopped_agent_that_listens_must_end_with_exit_code_0(agent, code, listens, reported):
    stopped = agent(code, listens=listens)
    assert stopped.life.died is None
    stopped.end()
    assert (stopped.life.died or "").startswith(reported or "")
    assert (stopped.life.died is None) == (reported is None)


def test_an_agent_that_ended_by_itself_has_failed_even_if_it_is_killed_later(agent):
    gone = agent(0, by_itself=True)
    eventually(lambda: not gone.life.running)
    gone.life.kill()
    assert gone.life.died.startswith("sidecar-1 ended by itself with exit code 0")


def test_a_killed_agent_has_not_failed(agent):
    killed = agent(0)
    killed.life.kill()
    assert killed.life.died is None


def test_a_failed_agent_is_named_even_if_another_one_followed():
    observer, sidecar = (
        SimpleNamespace(lives=[SimpleNamespace(died=died) for died in each])
        for each in ([None, "observe-2 died", None], ["sidecar-1 died", None])
    )
    verdict = ended((observer, sidecar))
    assert verdict.what == "5 lives of agents"
    assert verdict.wrong == ("observe-2 died", "sidecar-1 died")
    assert ended((SimpleNamespace(lives=observer.lives[:1]),)).wrong == ()
