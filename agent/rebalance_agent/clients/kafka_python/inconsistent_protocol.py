"""Explains ``InconsistentGroupProtocol``, for which kafka-python's error has no text."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.clients.kafka_python.admin_thread import AdminThread
from rebalance_agent.clients.negotiation import GroupDescription, explain_refusal
from rebalance_agent.errors import ClusterError

__all__ = ["why_refused"]


def why_refused(admin_thread: AdminThread, group: str, offered: Sequence[str]) -> str:
    """Describe ``group``, and explain why a member that offers these strategies cannot join it."""
    try:
        answer = admin_thread.ask(lambda admin: admin.describe_groups([group])[group])
        problem = answer["error"]
    except ClusterError as error:
        problem = str(error)
    if problem:
        return explain_refusal(group, offered, str(problem))
    clients = tuple(member["client_id"] for member in answer["members"])
    return explain_refusal(group, offered, GroupDescription(answer["protocol_type"], answer["protocol_data"], clients))
