"""The methods of token logins, and their options in ``sasl.oauthbearer.config``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from rebalance_agent.errors import InvalidInputError

__all__ = ["CONFIG", "METHOD", "NO_SCOPE", "OPTIONS", "aws_region", "has_other_options", "login_options"]

METHOD = "sasl.oauthbearer.method"
CONFIG = "sasl.oauthbearer.config"

OPTIONS: Mapping[str, frozenset[str]] = {
    "aws-msk-iam": frozenset({"profile", "region", "role_arn"}),
    "azure": frozenset({"client_id", "scope"}),
    "gcp": frozenset(),  # credentials come from the environment
}
"""The agent's own values of `METHOD`, and the options of each. librdkafka's values are ``default`` and ``oidc``."""

NO_SCOPE = (
    "the scope is missing: set sasl.oauthbearer.config to scope=https://NAMESPACE.servicebus.windows.net/.default"
)
"""The error of ``azure`` without its scope."""


def login_options(method: str, config: str) -> dict[str, str]:
    """Parse ``config``, pairs such as ``region=eu-central-1`` that are separated by commas or spaces.

    Raises:
        InvalidInputError: a part is no pair, or an option that the method does not have.
    """
    pairs = _pairs(config)
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise InvalidInputError(f"kafka.{CONFIG}", "must be pairs such as region=eu-central-1, separated by commas")
    options = {name: value for name, _, value in pairs}
    known = OPTIONS[method]
    if unknown := sorted(options.keys() - known):
        has = f"its options are {', '.join(sorted(known))}" if known else "it has no options"
        raise InvalidInputError(f"kafka.{CONFIG}", f"{method} has no option {unknown[0]!r}: {has}")
    return options


def has_other_options(config: str) -> bool:
    """Return whether ``config`` has options that no method in `OPTIONS` has: only such options may be secret."""
    return not {name for name, _, _ in _pairs(config)} <= frozenset().union(*OPTIONS.values())


def aws_region(options: Mapping[str, str]) -> str:
    """Return the region in ``options`` or in the environment; "" if there is none."""
    return options.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""


def _pairs(config: str) -> list[tuple[str, str, str]]:
    return [part.partition("=") for part in re.split(r"[,\s]+", config) if part]
