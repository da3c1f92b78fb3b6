"""Fuzzing of every parser of bytes from outside: ``make fuzz``, which is ``python tests/fuzz/run.py --seconds N``.

`targets` has the parsers and their invariants, `mutations` damages inputs, `limits` bounds the cost of one input,
`engines` choose inputs (atheris by coverage, or a plain loop), `run` divides the time and reports. `corpus` contains
inputs that once caused faults. `test_targets` runs a small part of it with every ``make test``.
"""
