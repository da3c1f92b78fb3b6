"""Reads the features that a cluster has enabled (KIP-584), which librdkafka does not show."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.cluster.describing.broker_client import BrokerClient
from rebalance_agent.errors import ClusterError

__all__ = ["finalized_features"]

_SOFTWARE = {"client_software_name": "rebalance-agent", "client_software_version": "1"}


def finalized_features(client: BrokerClient) -> Mapping[str, int] | None:
    """Return feature -> its enabled level; features with level 0 are missing. None if the brokers report none.

    Raises:
        ClusterError: no broker answers.
    """
    from kafka.protocol.metadata import ApiVersionsRequest  # noqa: PLC0415 - of an extra

    # Version 3 is the first with features; kafka-python cannot decode all later ones.
    request = ApiVersionsRequest(**_SOFTWARE, min_version=3, max_version=3)
    (answer,) = client([(client.nodes()[0], request)])
    if isinstance(answer, ClusterError):
        raise answer
    if answer.error_code or answer.finalized_features_epoch is None or answer.finalized_features_epoch < 0:
        return None
    return {feature.name: feature.max_version_level for feature in answer.finalized_features or ()}
