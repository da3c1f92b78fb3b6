"""Formats words and numbers for ``docs/alert-replays.md``."""

from __future__ import annotations

__all__ = ["duration", "receivers", "short"]


def receivers(sent: dict[str, list[str]], fired: list[str]) -> str:
    """Return the alerts that each receiver got and, in italics, the alerts in ``fired`` that no receiver got."""
    words = {"pager": "page", "tickets": "ticket"}
    parts = [f"{words[receiver]}: {', '.join(map(short, alerts))}" for receiver, alerts in sent.items()]
    received = {alert for alerts in sent.values() for alert in alerts}
    if silent := [alert for alert in fired if alert not in received]:
        parts.append(f"*{', '.join(map(short, silent))}*")
    return "; ".join(parts)


def short(alert: str) -> str:
    """Return the alert's name without the prefix of group alerts."""
    return alert.removeprefix("KafkaGroup")


def duration(seconds: int) -> str:
    """Return seconds in one or two units: ``90 s``, ``3 min 30 s``, ``2 h 5 min``."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes) + [f"{rest} s"] * bool(rest and not hours)
    return " ".join(parts) or "0 s"
