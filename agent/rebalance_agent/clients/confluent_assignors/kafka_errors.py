"""Translates kafka-python's exceptions to confluent-kafka's errors."""

from __future__ import annotations

import kafka.errors
from confluent_kafka import KafkaError, KafkaException

__all__ = ["confluent_error", "not_a_member", "refused"]

_LOCAL: tuple[tuple[type[BaseException], int], ...] = (
    (kafka.errors.KafkaTimeoutError, KafkaError._TIMED_OUT),  # noqa: SLF001 - librdkafka's own codes begin so
    (kafka.errors.NodeNotReadyError, KafkaError._TRANSPORT),  # noqa: SLF001
    (kafka.errors.KafkaConnectionError, KafkaError._TRANSPORT),  # noqa: SLF001
    (kafka.errors.KafkaConfigurationError, KafkaError._INVALID_ARG),  # noqa: SLF001
)


def confluent_error(error: BaseException) -> KafkaError:
    """Return the confluent-kafka error for ``error``: the broker's code, or librdkafka's code for a local failure."""
    if isinstance(error, KafkaException):
        wrapped: KafkaError = error.args[0]
        return wrapped
    if isinstance(error, kafka.errors.CommitFailedError):
        # kafka-python wraps the broker's error, or has only a text if it has already left the group.
        cause = next(
            (argument for argument in error.args if isinstance(argument, kafka.errors.BrokerResponseError)), None
        )
        return not_a_member() if cause is None else confluent_error(cause)
    if isinstance(error, kafka.errors.BrokerResponseError) and error.errno is not None:
        return KafkaError(error.errno, str(error), fatal=isinstance(error, kafka.errors.FencedInstanceIdError))
    for kind, code in _LOCAL:
        if isinstance(error, kind):
            return KafkaError(code, str(error))
    return KafkaError(KafkaError._FAIL, f"{type(error).__name__}: {error}")  # noqa: SLF001


def not_a_member() -> KafkaError:
    """Return the coordinator's error for a client that is not a member, or is no longer one."""
    return KafkaError(KafkaError.UNKNOWN_MEMBER_ID, "this consumer is not, or no longer, a member of the group")


def refused(what: str) -> KafkaException:
    """Return the error of a method that is not supported; ``what`` names it."""
    return KafkaException(KafkaError(KafkaError._NOT_IMPLEMENTED, what))  # noqa: SLF001
