"""Stores SCRAM users (KIP-554) in a running cluster. Users of PLAIN are in the broker's configuration instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rebalance_agent.testing.errors import BrokerError
from rebalance_agent.testing.kafka.listeners import Listener

__all__ = ["store_scram_users"]

ITERATIONS = 4_096
"""Number of iterations of the hash, Kafka's minimum."""

TIMEOUT_S = 30.0
"""Timeout of one request, in seconds."""


def store_scram_users(bootstrap_servers: str, listeners: Iterable[Listener]) -> None:
    """Store the users of all listeners with SCRAM; if there are none, no request is sent.

    Raises:
        BrokerError: the cluster did not store the users.
    """
    credentials = [listener.scram for listener in listeners if listener.scram and listener.scram[1]]
    if not credentials:
        return
    # Imported here, so that a cluster without SCRAM needs no client.
    from confluent_kafka import KafkaException  # noqa: PLC0415
    from confluent_kafka.admin import (  # type: ignore[attr-defined]  # noqa: PLC0415
        AdminClient,
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialUpsertion,
    )

    from rebalance_agent.cluster.admin_answers import AdminAnswers  # noqa: PLC0415

    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    # One request per mechanism: Kafka refuses a request that names a user twice.
    for mechanism, users in credentials:
        kind = ScramCredentialInfo(ScramMechanism[mechanism.replace("-", "_")], ITERATIONS)
        changes: list[Any] = [
            UserScramCredentialUpsertion(user, kind, password.encode()) for user, password in users.items()
        ]
        try:
            for future in AdminAnswers(TIMEOUT_S)(admin.alter_user_scram_credentials, changes).values():
                future.result()
        except KafkaException as error:
            raise BrokerError(f"the users of SCRAM could not be stored: {error.args[0].str()}") from None
