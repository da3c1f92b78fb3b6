"""Returns the settings in effect without any secret, because /config shows them to every reader of metrics.

Only Kafka properties that are known to be harmless are shown. New releases of librdkafka add properties, and some are
free texts that may contain a password (``sasl.kerberos.kinit.cmd``, ``sasl.oauthbearer.config``).
"""

from __future__ import annotations

import re

from rebalance_agent import __version__
from rebalance_agent.runtime.settings.roles import AgentSettings
from rebalance_agent.runtime.settings.webhook_target import webhook_target

__all__ = ["REDACTED", "shown_settings"]

REDACTED = "[redacted]"

_SECRET = re.compile(r"password|passphrase|secret|token|jaas|oauth|credential|\bkey\b|\.pem", re.IGNORECASE)
_HARMLESS = frozenset(
    {
        "bootstrap.servers",
        "broker.address.family",
        "client.id",
        "client.rack",
        "compression.type",
        "compression.codec",
        "debug",
        "partitioner",
        "sasl.mechanism",
        "sasl.mechanisms",
        "security.protocol",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.endpoint.identification.algorithm",
    }
)
_NUMBER = re.compile(r"-?\d{1,15}|true|false")


def shown_settings(settings: AgentSettings) -> dict[str, object]:
    """Return ``version``, and ``settings``: name -> value. Secrets are `REDACTED`; paths of secret files are shown."""
    shown = settings.model_dump(mode="json")
    shown["kafka"] = {name: _kafka(name, value) for name, value in sorted(settings.kafka.items())}
    if settings.events_webhook:
        # Often a client needs only the webhook's URL to post to the webhook.
        shown["events_webhook"] = webhook_target(settings.events_webhook).shown
    return {"version": __version__, "settings": shown}


def _kafka(name: str, value: str) -> str:
    if name.endswith(".file") and "\n" not in value:
        return value
    if _SECRET.search(name):
        return REDACTED
    return value if name in _HARMLESS or _NUMBER.fullmatch(value) else REDACTED
