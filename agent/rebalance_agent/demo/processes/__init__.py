"""Contains the programs of the demo's child processes, and starts, addresses and ends these processes.

- ``member``, ``producer``: programs that the demo runs. ``member_commands``: defines the commands that a member reads
  from standard input.
- ``gateways``: computes the flags and ports of a member's gateway.
- ``children``: starts and ends processes; ``exit_with_parent``: ends a process when the demo has ended.
- ``interrupts``: turns signals into an orderly end of the demo.

``scenario`` and ``step_schedule`` decide what happens, and when.
"""
