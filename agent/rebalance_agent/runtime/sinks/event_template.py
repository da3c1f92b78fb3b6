"""Fills a JSON template with an event's fields, for POSTs to a service that does not accept the agent's events."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.regular_files import regular_file
from rebalance_agent.runtime.sinks.queued_sink import DeliveryError
from rebalance_agent.runtime.sinks.webhook_sink import Webhook

__all__ = ["EventTemplate", "TemplatedWebhook"]

TEMPLATE_BYTES_MAX = 64 * 1024
"""Maximum size of a template: more than any chat service accepts."""

_FIELD = re.compile(r"\$\{([a-z_]+(?:\.[a-z_]+)*)\}")


@dataclass(frozen=True, slots=True)
class EventTemplate:
    """JSON whose strings contain placeholders ``${field}``, with dots for nested fields.

    A string that consists of one placeholder becomes the field's value, which may be a number or a list. A field that
    an event does not have is an empty string.
    """

    value: object

    @classmethod
    def read(cls, setting: str, path: str) -> EventTemplate:
        """Read a file.

        Raises:
            InvalidInputError: the file cannot be read, is too large, is not JSON, or has no placeholder; names
            ``setting``.
        """
        try:
            with regular_file(path) as file:
                data = file.read(TEMPLATE_BYTES_MAX + 1)
            value = json.loads(data) if len(data) <= TEMPLATE_BYTES_MAX else None
        except OSError as error:
            raise InvalidInputError(setting, f"cannot read {path}: {error.strerror}") from None
        except (ValueError, RecursionError):
            raise InvalidInputError(setting, f"{path} is not JSON") from None
        if value is None or not _FIELD.search(data.decode()):
            raise InvalidInputError(
                setting, f"{path} must contain a placeholder such as ${{group}}, and be at most 64 KiB"
            )
        return cls(value)

    def body(self, line: bytes) -> bytes:
        """Return the body for an event; ``line`` is the event's JSON."""
        return json.dumps(_filled(self.value, json.loads(line))).encode()


@dataclass(frozen=True, slots=True)
class TemplatedWebhook:
    """Delivers each event in a separate POST."""

    webhook: Webhook
    template: EventTemplate

    def deliver(self, lines: Sequence[bytes], given_up: threading.Event) -> None:
        """POST the events in order, up to the first event that is not accepted.

        Raises:
            DeliveryError: an event was refused or not accepted in time; later events were not sent.
        """
        for index, line in enumerate(lines):
            try:
                self.webhook.deliver([self.template.body(line)], given_up)
            except DeliveryError as error:
                raise DeliveryError(str(error), range(index)) from None

    def close(self) -> None:
        """Do nothing: no connection is kept open."""


def _filled(value: object, event: object) -> object:
    if isinstance(value, dict):
        return {name: _filled(inner, event) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, event) for inner in value]
    if not isinstance(value, str):
        return value
    if whole := _FIELD.fullmatch(value):
        return _field(event, whole[1])
    return _FIELD.sub(lambda match: _text(_field(event, match[1])), value)


def _field(event: object, path: str) -> object:
    for name in path.split("."):
        event = event.get(name, "") if isinstance(event, dict) else ""
    return event


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
