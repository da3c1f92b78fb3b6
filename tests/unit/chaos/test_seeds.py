"""Several seeds have one run each, one after the other, and one exit code."""

from __future__ import annotations

import signal
import subprocess

import pytest

from chaos import __main__ as program
from chaos.faults import all_faults
from chaos.faults.schedule import WHOLE_MINUTES, Fault
from chaos.verdict.account import Account

RUN = """\
import os, signal, sys
seed = sys.argv[sys.argv.index("--seed") + 1]
print("ran", *sys.argv[1:], flush=True)
if seed == "5":  # Ctrl-C before it has its own handler
    os.kill(os.getppid(), signal.SIGINT)
    signal.alarm(90)
    signal.pause()
sys.exit({"2": 1, "3": 130}.get(seed, 0))
"""


@pytest.fixture
def ran(tmp_path, monkeypatch, capfd):
    """The output with these arguments, if a seed's run is this program."""
    (tmp_path / "chaos").mkdir()
    (tmp_path / "chaos/__main__.py").write_text(RUN)
    monkeypatch.setattr(program, "TESTS", tmp_path)

    def run(*arguments):
        code = program.main(arguments)
        return code, [line for line in capfd.readouterr().out.splitlines() if line]

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield run
    for number, handler in before.items():
        signal.signal(number, handler)


def test_each_seed_runs_with_the_other_arguments_and_one_that_fails_fails_all(ran):
    code, lines = ran("--seed", "1", "2", "4", "--minutes", "3", "--only", "network cut", "--no-spark")
    more = "--only network cut --no-spark"
    assert sorted(lines) == sorted(
        [
            *(f"ran --minutes 3 --seed {seed} {more}" for seed in (1, 2, 4)),
            "seed 1: nothing is wrong",
            "seed 2: something is wrong",
            "seed 4: nothing is wrong",
        ]
    )
    assert code == 1
    assert ran("--seed", "1", "4")[0] == 0


def test_ctrl_c_while_a_run_starts_ends_it(ran, monkeypatch):
    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(program.subprocess, "Popen", Interrupted)
    code, lines = ran("--seed", "1", "4")
    assert code == program.INTERRUPTED
    assert lines[-1] == "seed 1: interrupted"


@pytest.mark.parametrize("seed", ["3", "5"])
def test_no_run_follows_an_interrupted_one(ran, seed):
    code, lines = ran("--seed", "1", seed, "4")
    assert code == program.INTERRUPTED
    assert f"seed {seed}: interrupted" in lines
    assert not any("seed 4" in line for line in lines)


class Passing:
    """The parts of a run; a minute passes at each reading of the clock."""

    def __init__(self):
        self.now = 0.0
        self.clock, self.stream, self.agents = self, None, (self, self)
        self.life, self.died = self, None

    def monotonic(self):
        self.now += 60
        return self.now

    def wait(self, _seconds):
        pass


@pytest.mark.parametrize(("minutes", "done"), [(WHOLE_MINUTES, {"network cut", "connections reset"}), (1, set())])
def test_a_whole_run_continues_until_it_had_each_kind_of_fault(monkeypatch, minutes, done):
    monkeypatch.setattr(all_faults, "inject", lambda *_: None)
    faults = [Fault(0, name, 0, 1) for name in ["network cut"] * 20 + ["connections reset"] * 2]
    account = Account()
    found = all_faults.inject_all(Passing(), faults, minutes, account)
    assert [act["do"] for act in account.acts] == ["fault", "fault over"] * sum(found.values())
    assert found.keys() == done
    assert found["connections reset"] <= 1
    assert found["network cut"] < 20
