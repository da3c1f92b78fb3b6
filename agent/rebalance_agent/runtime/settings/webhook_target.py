"""Parses the webhook's URL, and shows it without the secret parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

__all__ = ["WebhookTarget", "is_shown_whole", "webhook_target"]

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """The URL to POST to, which `webhook_target` has checked. ``path`` includes the query, and may be secret."""

    scheme: str
    host: str
    port: int
    path: str = field(repr=False)

    @property
    def shown(self) -> str:
        """The URL without its path and query, which may be secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def webhook_target(url: str) -> WebhookTarget:
    """Parse an ``http`` or ``https`` URL.

    Raises:
        ValueError: the text is not such a URL, or has a user and password. The error contains no part of the URL.
    """
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("must be a URL of printable ASCII without spaces")
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("is not a URL") from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("must be an http or https URL, such as https://example.org/events")
    if "@" in parts.netloc:
        raise ValueError("must not contain a user or password; use events_webhook_token_file")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return WebhookTarget(parts.scheme, parts.hostname, _PORTS[parts.scheme] if port is None else port, path)


def is_shown_whole(url: str) -> bool:
    """Return whether `WebhookTarget.shown` omits nothing of ``url`` that may be secret; True if it is not valid."""
    try:
        return webhook_target(url).path == "/" and "#" not in url
    except ValueError:
        return True  # the error, which the caller reports later, contains no part of the URL
