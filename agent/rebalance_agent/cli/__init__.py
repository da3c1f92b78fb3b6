"""The command line of ``rebalance-agent``. Commands parse flags, call a package, print, and return an exit code.

- ``main``: selects a command from ``command_list``. ``commands``: contains one module per command. ``pipeline``:
  contains one module per stage of the pipeline.
- ``inputs``: reads files, an agent's API and cluster flags. ``screens``: writes the tables and texts of `watch`,
  `whatif` and other commands. ``completion``: completes commands and flags in shells.
- ``command_parser``: defines the parser of all commands. ``color_flag``: defines the flag of commands that write
  colours. ``output_flag``: defines the flag for the form of a result; YAML needs the package ``yaml``.
- ``agent_command``: runs the processes of `observe`, `sidecar` and `gateway`. ``verify_reports``: runs the audit of
  `verify`. ``saved_help``: returns the help of commands whose packages are missing.

No other package imports this package. The package itself computes no facts about groups.
"""
