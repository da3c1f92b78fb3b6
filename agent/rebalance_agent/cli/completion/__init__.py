"""Completes the commands and flags of `rebalance-agent` in shells.

- ``command_words``: collects the words of each command from the command's parser.
- ``shell_scripts``: writes the scripts for Bash, Zsh and fish from these words. Pure.
"""
