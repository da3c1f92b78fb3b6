"""The demo's child processes: their programs, and how they are started, addressed and ended.

- ``member``, ``producer``: programs that the demo runs. ``member_commands``: what a member reads from standard input.
- ``gateways``: the flags and ports of a member's gateway.
- ``children``: starts and ends processes; ``exit_with_parent``: ends a process when the demo is gone.
- ``interrupts``: turns signals into an orderly end of the demo.

``scenario`` and ``step_schedule`` decide what happens, and when.
"""
