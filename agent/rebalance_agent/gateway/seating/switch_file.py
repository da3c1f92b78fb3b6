"""Reads a file that switches off the seats of a whole fleet, such as a ConfigMap mounted into every pod."""

from __future__ import annotations

from typing import NamedTuple

from rebalance_agent.regular_files import regular_file

__all__ = ["Switch", "read_switch"]

BYTES_MAX = 64
"""Maximum number of bytes that are read: the file contains one word."""


class Switch(NamedTuple):
    """The content of the file. ``reason``: why seats are off, in words; empty if they are on.

    ``understood``: False if the file cannot be read or understood.
    """

    reason: str = ""
    understood: bool = True


def read_switch(path: str) -> Switch:
    """Read whether the file ``path`` switches seats off.

    Seats stay on if the file does not exist or contains ``on`` (case and surrounding white space are ignored). Any
    other content, such as ``off``, switches seats off, and so does a file that cannot be read: without seats a group
    only rebalances more often.
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
