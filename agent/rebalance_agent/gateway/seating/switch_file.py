"""A file that switches off the seats of a whole fleet, such as a ConfigMap mounted into every pod."""

from __future__ import annotations

from typing import NamedTuple

from rebalance_agent.regular_files import regular_file

__all__ = ["Switch", "read_switch"]

BYTES_MAX = 64
"""Maximum bytes that are read: the file contains one word."""


class Switch(NamedTuple):
    """The content of the file. ``reason``: why seats are off, in words; empty if they are on.

    ``understood``: False if the file cannot be read or understood.
    """

    reason: str = ""
    understood: bool = True


def read_switch(path: str) -> Switch:
    """Read whether the file ``path`` switches seats off.

    It does not if the file does not exist or contains ``on`` (upper or lower case, white space around it is ignored).
    Everything else, such as ``off``, switches seats off, also a file that cannot be read or understood: without seats a
    group only rebalances more often.
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
