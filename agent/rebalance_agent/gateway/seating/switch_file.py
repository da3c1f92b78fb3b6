"""A file that switches the seats of a whole fleet off, such as a ConfigMap that is mounted into every pod."""

from __future__ import annotations

from rebalance_agent.regular_files import regular_file

__all__ = ["switched_off_by"]

BYTES_MAX = 64
"""Bytes that are read: the file says one word."""


def switched_off_by(path: str) -> str:
    """Why the file ``path`` switches seats off, in words; empty where it does not.

    It does not if it does not exist, or says ``on`` (in any case, with or without white space around). Everything else
    switches off, ``off`` above all: a switch that cannot be read or understood must not leave seats on, since the group
    only rebalances more without them.
    """
    try:
        with regular_file(path) as file:
            said = file.read(BYTES_MAX).strip().lower()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{path} cannot be read: {error.strerror or error}"
    if said == b"on":
        return ""
    return f"{path} says {'off' if said == b'off' else 'neither on nor off'}"
