"""A short, fixed part of ``make fuzz`` with every test run; inputs that once caused faults come first."""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fuzz.engines import damaged, inputs_of, plainly
from fuzz.limits import TooDearError, taken
from fuzz.target import MB, Target, joined, kept_inputs, parts
from fuzz.targets import TARGETS

INPUTS = 400
CORPUS = Path(__file__).parent / "corpus"
CORPUS_BYTES_MAX = 256 * 1024

RUN = (sys.executable, str(Path(__file__).parent / "run.py"), "--engine", "plain")


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level("ERROR")


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_accepts_its_first_inputs(name):
    assert plainly(TARGETS[name], seed=1, inputs=INPUTS) == INPUTS


@pytest.mark.parametrize("name", TARGETS)
def test_real_inputs_are_within_the_bounds_of_damaged_ones(name):
    """Otherwise coverage would begin with truncated inputs, and never reach the code behind complete ones."""
    seeds = inputs_of(TARGETS[name])
    assert seeds
    assert max(map(len, seeds)) <= TARGETS[name].length_max


def target(take, **bounds):
    return Target("tried", take, lambda: [b"seed", joined(b"one", None, b"two")], **bounds)


def test_a_fault_is_reported_and_its_input_kept(tmp_path):
    def take(data):
        assert b"\xff\xff" not in data

    with pytest.raises(AssertionError):
        plainly(target(take), seed=1, inputs=10_000, folder=tmp_path)
    (kept,) = tmp_path.iterdir()
    assert b"\xff\xff" in kept.read_bytes()


def compute(seconds):
    """Use this number of CPU seconds of this thread, independent of other load."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1_000))


def test_an_input_that_takes_long_is_a_fault():
    with pytest.raises(TooDearError, match="of CPU"):
        taken(target(lambda _: compute(0.02), seconds_max=0.01), b"x")


def test_an_input_that_never_returns_is_a_fault_and_kept(tmp_path):
    """A test's own alarm continues afterwards."""
    waits = target(lambda data: data and threading.Event().wait())
    signal.setitimer(signal.ITIMER_REAL, 250.0)
    with pytest.raises(TooDearError, match=r"did not come back within 0\.05 s"):
        plainly(waits, seed=1, inputs=10, folder=tmp_path, hanging_s=0.05)
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    assert 200 < left < 250
    (kept,) = tmp_path.iterdir()
    assert kept.read_bytes() == b"seed"


def test_work_of_other_threads_counts_for_threaded_targets():
    def elsewhere(_data):
        worker = threading.Thread(target=compute, args=[0.3])
        worker.start()
        worker.join()

    # On a busy machine starting a thread takes a millisecond or two of the starter's own time.
    taken(target(elsewhere, seconds_max=0.2), b"x")
    with pytest.raises(TooDearError, match="of CPU"):
        taken(target(elsewhere, seconds_max=0.2, threaded=True), b"x")


def test_an_input_that_uses_much_memory_is_a_fault():
    greedy = target(lambda data: [bytes(1_000)] * 2 + [bytes(100_000 * len(data))], bytes_max=50_000)
    taken(greedy, b"", weigh=True)
    with pytest.raises(TooDearError, match="of memory"):
        taken(greedy, b"x", weigh=True)


def test_an_input_that_grows_the_process_is_a_fault_without_tracing():
    """The growth above the process's peak counts; earlier memory is no input's fault."""
    had = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    grows = target(lambda data: b"x" * (len(data) * MB), bytes_max=10 * MB, seconds_max=60)
    taken(grows, bytes(20))
    with pytest.raises(TooDearError, match="let the process grow by"):
        taken(grows, bytes(had // MB + 100))


def test_damage_depends_on_the_seed_and_changes_most_inputs():
    known = inputs_of(TARGETS["record"])

    def made(seed):
        chance = random.Random(seed)
        return [damaged(chance, TARGETS["record"], chance.choice(known), known) for _ in range(200)]

    assert made(1) == made(1) != made(2)
    assert sum(each in known for each in made(1)) < 40


def test_joined_pieces_are_split_again_and_any_bytes_are_pieces():
    pieces = [b"", None, b"a", b"bc" * 200]
    assert parts(joined(*pieces)) == pieces
    assert parts(b"\x7f\xff\xff\xffabc") == [b"abc"]
    assert parts(b"\0") == [b""]


def test_the_corpus_is_small_and_has_existing_targets_only():
    assert {each.name for each in CORPUS.iterdir()} <= TARGETS.keys()
    assert sum(len(each) for name in TARGETS for each in kept_inputs(name)) <= CORPUS_BYTES_MAX


def test_the_runner_reports_every_chosen_target():
    chosen = ("--target", "accept", "--target", "subscription", "--inputs", "50", "--seconds", "20", "--at-once", "1")
    done = subprocess.run([*RUN, *chosen], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in ("| accept | 50 |", "| subscription | 50 |", "| in all | 100 |"):
        assert line in done.stdout
    assert "2 targets, 10 s each, 1 at once" in done.stdout


def test_the_runner_replays_one_input(tmp_path):
    kept = tmp_path / "fault"
    kept.write_bytes(b"name=orders")
    done = subprocess.run(
        [*RUN, "--target", "page", "--replay", str(kept)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"page: {kept} is well\n")


def test_a_replay_needs_a_target(tmp_path):
    (tmp_path / "fault").write_bytes(b"")
    done = subprocess.run([*RUN, "--replay", str(tmp_path / "fault")], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--replay: name the one --target" in done.stderr
