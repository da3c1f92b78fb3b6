"""kafka-python's exceptions in confluent-kafka's words."""

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
    """The same failure as confluent-kafka would tell it: the broker's code, or librdkafka's for a local one."""
    if isinstance(error, KafkaException):
        known: KafkaError = error.args[0]
        return known
    if isinstance(error, kafka.errors.CommitFailedError):
        # kafka-python wraps what the coordinator said, or, if it knows already that it is no member, says it in words.
        cause = next((each for each in error.args if isinstance(each, kafka.errors.BrokerResponseError)), None)
        return not_a_member() if cause is None else confluent_error(cause)
    if isinstance(error, kafka.errors.BrokerResponseError) and error.errno is not None:
        return KafkaError(error.errno, str(error), fatal=isinstance(error, kafka.errors.FencedInstanceIdError))
    for kind, code in _LOCAL:
        if isinstance(error, kind):
            return KafkaError(code, str(error))
    return KafkaError(KafkaError._FAIL, f"{type(error).__name__}: {error}")  # noqa: SLF001


def not_a_member() -> KafkaError:
    """What the coordinator says to who is not, or not any more, in the group."""
    return KafkaError(KafkaError.UNKNOWN_MEMBER_ID, "this consumer is not a member of the group, or not any more")


def refused(what: str) -> KafkaException:
    """The answer to a call that this consumer does not have, by its name."""
    return KafkaException(KafkaError(KafkaError._NOT_IMPLEMENTED, what))  # noqa: SLF001
