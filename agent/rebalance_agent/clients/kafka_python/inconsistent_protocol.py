"""A group that refuses a member, in words that help: kafka-python's error has none."""

from __future__ import annotations

from collections.abc import Sequence

from kafka.protocol.consumer.metadata import ConsumerProtocolType

from rebalance_agent.clients.kafka_python.admin_thread import AdminThread
from rebalance_agent.clients.negotiation import explain_inconsistent_protocols
from rebalance_agent.errors import ClusterError

__all__ = ["why_refused"]


def why_refused(aside: AdminThread, group: str, offered: Sequence[str]) -> str:
    """Ask the coordinator about ``group``, and say why a member that offers these strategies cannot join it.

    Of what the others offer it tells no more than the strategy in use.
    """
    try:
        described = aside.ask(lambda admin: admin.describe_groups([group])[group])
        problem = described["error"]
    except ClusterError as error:
        problem = str(error)
    if problem:
        return f"group {group} refuses a member that offers {', '.join(offered)}, and cannot be described: {problem}"
    kind, strategy = described["protocol_type"], described["protocol_data"]
    if kind not in ("", ConsumerProtocolType):
        return f"group {group} is of type {kind!r} and takes no consumers: choose another group_id"
    others = {member["client_id"]: [strategy] for member in described["members"] if strategy}
    return f"group {group}: {explain_inconsistent_protocols('this consumer', offered, others)}"
