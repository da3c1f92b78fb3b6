"""Completion of `rebalance-agent` in shells.

- ``command_words``: the words of each command, from its parser.
- ``shell_scripts``: the scripts for Bash, Zsh and fish, from these words. Pure.
"""
