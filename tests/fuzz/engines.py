"""Engines that choose inputs: atheris (libFuzzer) by coverage, or a plain loop if it is not installed.

``python -m fuzz.engines TARGET FOLDER SECONDS INPUTS SEED ENGINE`` fuzzes one target in a process of its own, prints
its result as JSON in the last line, and ends with 1 after a fault, whose input is then in FOLDER.
"""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import json
import logging
import random
import resource
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from fuzz.limits import HANGING_S, in_time, taken
from fuzz.mutations import mutated
from fuzz.target import Target, joined, kept_inputs, parts
from rebalance_agent.clock import SystemClock

__all__ = ["HAS_ATHERIS", "damaged", "inputs_of", "plainly"]

HAS_ATHERIS = importlib.util.find_spec("atheris") is not None

WEIGHED_EVERY = 256
"""The memory of one in this number of inputs is measured."""

LIBFUZZERS_OWN = 0.2
"""Share of mutations by libFuzzer itself, which knows the compared values."""

WHOLE, FEWER_OR_MORE = 0.15, 0.1
"""Shares of mutations of an input of several pieces: of the whole, and of the number of pieces."""

RSS_MAX_MIB = 2_048


def inputs_of(target: Target) -> list[bytes]:
    """The inputs that are tried first: real ones, and those that once caused faults."""
    return [*kept_inputs(target.name), *target.seeds()]


def damaged(chance: random.Random, target: Target, data: bytes, known: Sequence[bytes]) -> bytes:
    """A mutation of ``data``: one of its pieces damaged or left out, or the whole damaged."""
    at = target.framed_from
    if at is None or chance.random() < WHOLE:
        return mutated(chance, data, known, target.words, text=target.text)
    head, pieces = data[:at], parts(data[at:])
    others = [each for each in parts(chance.choice(known)[at:]) if each] if known else []
    if not pieces or chance.random() < FEWER_OR_MORE:
        pieces[chance.randrange(len(pieces) + 1) :] = chance.choice(([], [None], others))
    else:
        which = chance.randrange(len(pieces))
        pieces[which] = mutated(chance, pieces[which] or b"", others, target.words, text=target.text)
    return head + joined(*pieces)


def plainly(
    target: Target,
    seed: int,
    inputs: int,
    seconds: float = float("inf"),
    folder: Path | None = None,
    hanging_s: float = HANGING_S,
) -> int:
    """Try all initial inputs, then damaged ones up to a number or a time; return how many were tried.

    Raises:
        Exception: any exception of the target; the input is then in ``folder``.
    """
    chance, known = random.Random(seed), inputs_of(target)
    clock = SystemClock()
    end = clock.monotonic() + seconds
    for number in range(inputs):
        if number < len(known):
            data = known[number]
        else:
            data = damaged(chance, target, chance.choice(known), known)[: target.length_max]
        try:
            with in_time(hanging_s):
                taken(target, data, weigh=number % WEIGHED_EVERY == 0)
        except BaseException:
            if folder is not None:
                (folder / f"fault-{hashlib.sha256(data).hexdigest()[:16]}").write_bytes(data)
            raise
        if clock.monotonic() > end:
            return number + 1
    return inputs


def by_coverage(name: str, seed: int, inputs: int, seconds: float, folder: Path) -> None:
    """The same by atheris, which ends the process; libFuzzer reports the numbers in its own lines."""
    import atheris  # noqa: PLC0415 - an optional dependency

    with atheris.instrument_imports(include=["rebalance_agent"]):
        from fuzz.targets import TARGETS  # noqa: PLC0415
    target = TARGETS[name]
    known = inputs_of(target)
    _freeze()
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, data in enumerate(known):
        (corpus / f"{number:04}").write_bytes(data)
    count = 0

    def one(data: bytes) -> None:
        nonlocal count
        count += 1
        taken(target, data, weigh=count % WEIGHED_EVERY == 0)

    def choose(data: bytes, length_max: int, chosen: int) -> bytes:
        chance = random.Random(chosen)
        if chance.random() < LIBFUZZERS_OWN:
            return bytes(atheris.Mutate(data, length_max))
        return damaged(chance, target, data, known)[:length_max]

    flags = {
        "seed": seed or 1,  # 0 is "any" there
        "runs": inputs,
        "max_total_time": round(seconds),
        "max_len": target.length_max,
        "timeout": HANGING_S,
        "rss_limit_mb": RSS_MAX_MIB,
        "artifact_prefix": f"{folder}/fault-",
        "print_final_stats": 1,
        "verbosity": 1,
    }
    arguments = [sys.argv[0], *(f"-{flag}={value}" for flag, value in flags.items()), str(corpus)]
    atheris.Setup(arguments, one, custom_mutator=choose)
    atheris.Fuzz()


def _freeze() -> None:
    """Exclude permanent objects from garbage collection: scanning all modules takes a fifth of a target's time."""
    gc.collect()
    gc.freeze()


def _main() -> int:
    name, folder, seconds, inputs, seed, engine = sys.argv[1:]
    logging.disable(logging.WARNING)  # otherwise warnings about a million members would fill the output
    if engine == "atheris":
        by_coverage(name, int(seed), int(inputs), float(seconds), Path(folder))
    from fuzz.targets import TARGETS  # noqa: PLC0415 - imported after atheris has instrumented imports

    inputs_of(TARGETS[name])
    _freeze()
    try:
        done = plainly(TARGETS[name], int(seed), int(inputs), float(seconds), Path(folder))
    except BaseException:  # noqa: BLE001 - any exception is a fault
        traceback.print_exc()
        return 1
    print(json.dumps({"inputs": done, "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
    return 0


if __name__ == "__main__":
    sys.exit(_main())
