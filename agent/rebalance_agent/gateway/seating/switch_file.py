"""A file that switches the seats of a whole fleet off, such as a ConfigMap that is mounted into every pod."""

from __future__ import annotations

from typing import NamedTuple

from rebalance_agent.regular_files import regular_file

__all__ = ["Switch", "read_switch"]

BYTES_MAX = 64
"""Bytes that are read: the file contains one word."""


class Switch(NamedTuple):
    """The content of the file. ``reason``: why seats are off, in words; empty: they are on.

    ``understood``: False if it can be neither read nor understood.
    """

    reason: str = ""
    understood: bool = True


def read_switch(path: str) -> Switch:
    """Read whether the file ``path`` switches seats off.

    It does not if it does not exist, or contains ``on`` (in any case, with or without white space around). Everything
    else switches off, ``off`` above all: a switch that cannot be read or understood must not leave seats on, since the
    group only rebalances more without them.
    """
    try:
        with regular_file(path) as file:
            said = file.read(BYTES_MAX).strip().lower()
    except FileNotFoundError:
        return Switch()
    except OSError as error:
        return Switch(f"{path} cannot be read: {error.strerror or error}", understood=False)
    if said == b"on":
        return Switch()
    if said == b"off":
        return Switch(f"{path} contains off")
    return Switch(f"{path} contains neither on nor off", understood=False)
