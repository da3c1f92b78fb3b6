"""The command line of ``rebalance-agent``. A command parses flags, calls another package, prints, returns an exit code.

- ``main``: selects a command of ``command_list``. ``commands``: one module per command. ``pipeline``: one module per
  stage of the pipeline.
- ``inputs``: reads files, an agent's API and cluster flags. ``screens``: tables and text of `watch` and `whatif`.
- ``completion``: completion in shells.
- ``command_parser``: shared by all commands; ``color_flag``: by those that write colours; ``output_flag``: by those
  with a result, as YAML with the package ``yaml``; ``agent_command``: by those that run a process.
- ``verify_reports``: the audit that `verify` runs. ``saved_help``: help of commands whose packages are missing.

Nothing imports this package, and it computes nothing about groups itself.
"""
