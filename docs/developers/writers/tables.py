"""Writes the Markdown tables in hand-written pages: the permissions of each role on the cluster."""

from __future__ import annotations

from rebalance_agent.runtime.settings.rights import agent_rights
from rebalance_agent.runtime.settings.roles import AgentSettings, ObserverSettings, SidecarSettings

__all__ = ["TABLES", "replace_tables", "rights_table"]


def rights_table(settings: AgentSettings) -> str:
    """A Markdown table of the permissions of a role."""
    rows = ["| permission | purpose | degraded mode | without it |", "| --- | --- | --- | --- |"]
    rows += (
        f"| {right} | {right.why} | {'none (optional)' if right.optional else f'`{right.mode}`'} | {right.lost} |"
        for right in agent_rights(settings)
    )
    return "\n".join(rows) + "\n"


TABLES = {
    "reference/rights.md": (
        rights_table(ObserverSettings.model_construct(replicas_group="rebalance-agent")),
        rights_table(SidecarSettings.model_construct()),
    ),
}
"""Generated tables by the page of ``docs/`` that has them, in the order of the page. The environment is not read."""


def replace_tables(page: str, tables: tuple[str, ...]) -> str:
    """The page with each table that has the head of one of ``tables`` replaced, in their order.

    Raises:
        ValueError: the page does not have exactly these tables.
    """
    head = tables[0].partition("\n")[0]
    before, *parts = page.split(head + "\n")
    if len(parts) != len(tables):
        raise ValueError(f"{len(parts)} tables with the head {head!r}, and not {len(tables)}")
    written = [before]
    for table, part in zip(tables, parts, strict=True):
        lines = part.splitlines(keepends=True)
        rows = next((index for index, line in enumerate(lines) if not line.startswith("|")), len(lines))
        written += [table, *lines[rows:]]
    return "".join(written)
