"""``make chaos``: injects faults into brokers, agents and members of all group types, and checks every result."""

from __future__ import annotations

import argparse
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent / "agent"), str(TESTS)]
warnings.simplefilter("ignore", DeprecationWarning)

from chaos.faults.schedule import FAULTS, HIDDEN_FAULTS, STREAM, faults_of, schedule  # noqa: E402 - found by the path above
from chaos.members.kinds import KINDS, SEATS_KINDS  # noqa: E402
from chaos.play import play  # noqa: E402

INTERRUPTED = 128 + signal.SIGINT
EPILOG = """\
The exit code is 0 if the ledger is clean, every bound of a stall contains the value by the members' callbacks, every
record was read, the stream's tables have each event once, instrumented consumers poll as often as bare ones, there were
50 rebalances a minute, and a run of ten minutes or more had every kind of fault. Otherwise it prints what is wrong, the
folder of logs, records and events, and the command that repeats the faults.

make chaos ARGS="--minutes 2 --seed 7 --only 'broker killed' --only 'agent killed' --no-spark"
make chaos ARGS="--seed 1729 65537 314159"
make chaos ARGS="--minutes 20 --seed 7 --seats on"
make chaos ARGS="--seed 7 --seats off --hidden"
"""


def main(arguments=None):
    """Run chaos; return the exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs have ignored
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = _options(arguments)
    if len(options.seeds) > 1:
        return _each(options)
    faults = schedule(options.seed, options.minutes, options.only or (), faults_of(options))
    print(f"seed {options.seed}, {options.minutes:g} minutes:", *faults, sep="\n  ", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    try:
        wrong = play(options, faults, folder)
    except KeyboardInterrupt:
        wrong = None
    except Exception:  # noqa: BLE001 - reported as what is wrong, with how to repeat it
        wrong = [traceback.format_exc()]
    if not wrong:
        shutil.rmtree(folder)
        print("chaos: interrupted" if wrong is None else "chaos: nothing is wrong")
        return INTERRUPTED if wrong is None else 0
    print("\nchaos: something is wrong", *wrong, sep="\n  ")
    print(f"\nlogs, records and events are in {folder}. Again:\nmake chaos ARGS='{_again(options)}'")
    return 1


def _options(arguments):
    parser = argparse.ArgumentParser(
        "make chaos", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10, help="until everything calms down (default 10)")
    parser.add_argument(
        "--seed",
        type=int,
        nargs="+",
        dest="seeds",
        default=[random.SystemRandom().randrange(1_000_000)],
        help="by default a new one each time, which is printed; several seeds are played one after the other",
    )
    parser.add_argument(
        "--only", action="append", metavar="FAULT", help=f"only such; repeatable: {', '.join(FAULTS | HIDDEN_FAULTS)}"
    )
    parser.add_argument(
        "--kinds",
        action="append",
        metavar="GROUP",
        help=f"only such; repeatable: {', '.join(map(_name, KINDS))}; "
        f"with --seats {', '.join(map(_name, SEATS_KINDS))}",
    )
    parser.add_argument(
        "--seats",
        choices=("on", "off"),
        help="another run: groups behind two gateways with seats, or the same changes and faults without seats",
    )
    parser.add_argument(
        "--duplicates-max", type=int, metavar="N", help="records read again in the same run with --seats off"
    )
    parser.add_argument(
        "--hidden",
        action="store_true",
        help="with --seats: the observer may not read the offsets topic, and gets generations from the gateways",
    )
    parser.add_argument(
        "--spark",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="the pipeline's stream, too, on what the others leave of the processors (default)",
    )
    options = parser.parse_args(arguments)
    if not options.spark and STREAM in (options.only or ()):
        parser.error(f"--only '{STREAM}' needs --spark")
    if options.hidden and not options.seats:
        parser.error("--hidden needs --seats, since only that run has gateways")
    _check(parser, "--only", options.only, faults_of(options))
    _check(parser, "--kinds", options.kinds, list(map(_name, SEATS_KINDS if options.seats else KINDS)))
    options.seed = options.seeds[0]
    return options


def _name(kind):
    return kind.name


def _check(parser, option, given, known):
    for each in given or ():
        if each not in known:
            parser.error(f"{option} {each!r}: this run has {', '.join(known)}")


def _each(options):
    """Run once for each seed; return the exit code."""
    ended = {}
    for seed in options.seeds:
        options.seed = seed
        command = [
            sys.executable,
            "-W",
            "ignore::DeprecationWarning",
            str(TESTS / "chaos"),
            *shlex.split(_again(options)),
        ]
        run, interrupted = _begun(command)
        with run:
            try:
                if interrupted:
                    signal.raise_signal(signal.SIGINT)
                ended[seed] = run.wait()
            except KeyboardInterrupt:
                run.send_signal(signal.SIGINT)
                run.wait()
                ended[seed] = INTERRUPTED  # whatever its exit code: a run may not report this before it has begun
        if ended[seed] == INTERRUPTED:
            break
    words = {0: "nothing is wrong", INTERRUPTED: "interrupted"}
    print("", *(f"seed {seed}: {words.get(code, 'something is wrong')}" for seed, code in ended.items()), sep="\n")
    return INTERRUPTED if INTERRUPTED in ended.values() else int(any(ended.values()))


def _begun(command):
    """Start a process; return it, and whether Ctrl-C came meanwhile: then the caller has to end it."""
    came = []
    handlers = {number: signal.signal(number, lambda *_: came.append(1)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return subprocess.Popen(command, start_new_session=True), came
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _again(options):
    words = [
        f"--minutes {options.minutes:g} --seed {options.seed}",
        *(f'--only "{each}"' for each in options.only or ()),
    ]
    words += [f"--kinds {each}" for each in options.kinds or ()]
    words += [f"--seats {options.seats}"] if options.seats else []
    words += ["--hidden"] if options.hidden else []
    words += [f"--duplicates-max {options.duplicates_max}"] if options.duplicates_max is not None else []
    return " ".join([*words, *([] if options.spark else ["--no-spark"])])


if __name__ == "__main__":
    sys.exit(main())
