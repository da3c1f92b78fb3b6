"""The command line: one module per command, each with ``add_parser`` and ``run``; `main` ties them together.

Nothing is decided here: commands parse, call a room, print, and choose an exit code.
"""
