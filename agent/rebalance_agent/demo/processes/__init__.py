"""The demo's child processes: their programs, and how they are started, addressed and ended.

- ``member``, ``producer``: programs that the demo runs. ``orders``: the commands that a member takes on standard input.
- ``gateways``: the flags and ports of a member's gateway.
- ``children``: starts and ends processes; ``exit_with_parent``: ends a process when the demo is gone.
- ``interrupts``: turns signals into an orderly end of the demo.

When what happens is decided in ``stories`` and ``timetable``.
"""
