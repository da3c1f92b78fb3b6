"""Writes all permissions of a role as one shell script for ``kafka-acls.sh``."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.runtime.settings.rights import Right, acl_command

__all__ = ["acl_script"]


def acl_script(role: str, rights: Iterable[Right], principal: str, servers: str) -> str:
    """Return the script; a comment above each command has the permission and its purpose. The script is idempotent."""
    head = (
        "#!/bin/sh",
        f"# The ACLs of the {role} for {principal}. Run this script as a principal that may alter ACLs. It",
        "# passes its arguments to kafka-acls.sh, such as --command-config admin.properties.",
        "set -eu",
    )
    optional = {right: " (optional)" if right.optional else "" for right in rights}
    commands = (
        f'# {right}{note}: {right.why}\n{acl_command(right, principal, servers)} "$@"'
        for right, note in optional.items()
    )
    return "\n\n".join(("\n".join(head), *commands)) + "\n"
