"""The wire format: message tables, and what reads and writes bytes by them.

- ``schema``, ``primitives``, ``message``: the language of the tables.
- ``byte_reader``: a reader that never leaves its bytes; ``compiled_reader``: a table's reader as one compiled function.
- ``memo``: remembers results for short, frequent inputs.
"""
