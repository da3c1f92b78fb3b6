"""Fuzzing of every parser of bytes from outside: ``make fuzz``, which is ``python tests/fuzz/run.py --seconds N``.

`targets` says what is fed and what must hold, `mutations` how inputs are damaged, `limits` what one may cost, `engines`
who chooses the inputs (atheris by coverage, or a plain loop), `run` shares the time out and reports. `corpus` keeps the
inputs that once were faults. `test_targets` runs a little of all that with every ``make test``.
"""
