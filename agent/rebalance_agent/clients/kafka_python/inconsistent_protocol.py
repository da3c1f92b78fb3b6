"""Explains ``InconsistentGroupProtocol``, for which kafka-python's error has no text."""

from __future__ import annotations

from collections.abc import Sequence

from kafka.protocol.consumer.metadata import ConsumerProtocolType

from rebalance_agent.clients.kafka_python.admin_thread import AdminThread
from rebalance_agent.clients.negotiation import explain_inconsistent_protocols
from rebalance_agent.errors import ClusterError

__all__ = ["why_refused"]


def why_refused(admin_thread: AdminThread, group: str, offered: Sequence[str]) -> str:
    """Describe ``group``, and explain why a member that offers these strategies cannot join it.

    The coordinator describes only the strategy in use, not everything that the other members offer.
    """
    try:
        described = admin_thread.ask(lambda admin: admin.describe_groups([group])[group])
        problem = described["error"]
    except ClusterError as error:
        problem = str(error)
    if problem:
        return f"group {group} rejects a member that offers {', '.join(offered)}, and cannot be described: {problem}"
    kind, strategy = described["protocol_type"], described["protocol_data"]
    if kind not in ("", ConsumerProtocolType):
        return f"group {group} is of type {kind!r} and accepts no consumers: choose another group_id"
    others = {member["client_id"]: [strategy] for member in described["members"] if strategy}
    return f"group {group}: {explain_inconsistent_protocols('this consumer', offered, others)}"
