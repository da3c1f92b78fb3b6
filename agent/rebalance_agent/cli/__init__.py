"""The command line of ``rebalance-agent``. Commands parse flags, call a package, print, and return an exit code.

- ``main``: selects a command from ``command_list``. ``commands``: contains one module per command. ``pipeline``:
  contains one module per stage of the pipeline.
- ``inputs``: reads files, an agent's API and cluster flags. ``screens``: writes the tables and texts of `watch`,
  `whatif` and other commands.
- ``completion``: completes commands and flags in shells.
- ``command_parser``: shared by all commands; ``color_flag``: by those that write colours; ``output_flag``: by those
  with a result, as YAML with the package ``yaml``; ``agent_command``: by those that run a process.
- ``verify_reports``: the audit that `verify` runs. ``saved_help``: help of commands whose packages are missing.

No other package imports this package, which computes no facts about groups itself.
"""
