"""Generates ``docs/reference/settings.md``: every setting of each role, those that all roles have once."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pydantic.fields import FieldInfo

from rebalance_agent.runtime.settings.flags import default_text, environment_variable, flag
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.roles import AgentSettings, ObserverSettings, SidecarSettings

__all__ = ["settings_page"]

_HEAD = """\
# Settings

`make docs` generates this page from the package.

Flags override the environment, the environment overrides the file (`--config FILE` or `REBALANCE_AGENT_CONFIG`, YAML or
TOML), and the file overrides the defaults. `/config` of a running process shows the effective settings without secrets.
[Observe](../observe.md#settings) describes files, Kafka properties and files of Java clients.
The [glossary](../glossary.md) explains terms such as *generation*.
"""

_PARTS = {
    "All roles": "Settings of `rebalance-agent observe`, `sidecar` and `gateway`.",
    "Observer": "Settings of [`rebalance-agent observe`](../observe.md), in addition to those of all roles.",
    "Sidecar": "Settings of [`rebalance-agent sidecar`](../sidecar.md), in addition to those of all roles. A gateway "
    "has them, too.",
    "Gateway": "Settings of [`rebalance-agent gateway`](../gateway.md), in addition to those of a sidecar. If any "
    "of these gateway settings is set, a sidecar is also a gateway.",
}
"""Title of a part -> its text."""

_ROLES = (ObserverSettings, SidecarSettings, GatewaySettings)


def settings_page() -> str:
    """Return the page: the settings that are the same in all roles, then the others of each role."""
    common = [name for name in AgentSettings.model_fields if len({_row(role, name) for role in _ROLES}) == 1]
    parts = [
        _table(ObserverSettings, common),
        _table(ObserverSettings, _without(ObserverSettings, common)),
        _table(SidecarSettings, _without(SidecarSettings, common)),
        _table(GatewaySettings, _without(GatewaySettings, SidecarSettings.model_fields)),
    ]
    texts = (f"## {title}\n\n{text}\n\n{part}" for (title, text), part in zip(_PARTS.items(), parts, strict=True))
    return "\n".join([_HEAD, *texts])


def _without(role: type[AgentSettings], listed: Collection[str]) -> list[str]:
    return [name for name in role.model_fields if name not in listed]


def _table(role: type[AgentSettings], names: Iterable[str]) -> str:
    rows = ["| setting | flag | environment | default | meaning |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*rows, *(_row(role, name) for name in names)]) + "\n"


def _row(role: type[AgentSettings], name: str) -> str:
    field: FieldInfo = role.model_fields[name]
    default = default_text(field).replace("|", "\\|")
    cells = (f"`{name}`", f"`{flag(name)}`", f"`{environment_variable(name)}`", f"`{default}`" if default else "")
    return f"| {' | '.join(cells)} | {field.description} |"
