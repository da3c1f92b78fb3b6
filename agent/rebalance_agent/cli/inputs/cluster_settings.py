"""Reads the settings and Kafka properties of the cluster that the flags name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.runtime.settings.flags import kafka_flags
from rebalance_agent.runtime.settings.kafka_config import client_properties
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.settings.settings_sources import load
from rebalance_agent.visible_names import did_you_mean

__all__ = ["cluster_settings", "similar_group"]


def cluster_settings(options: argparse.Namespace) -> tuple[ObserverSettings, dict[str, str]]:
    """Return the observer's settings and complete Kafka properties.

    Raises:
        InvalidInputError: a setting is wrong, or no brokers are named.
    """
    file = {"kafka_config": options.kafka_config} if options.kafka_config else {}
    settings = load(ObserverSettings, options.config, {"kafka": kafka_flags(options), **file})
    if not settings.kafka.get("bootstrap.servers"):
        raise InvalidInputError("--bootstrap-servers", "is missing: name the brokers, such as localhost:9092")
    return settings, client_properties(settings.kafka)


def similar_group(properties: Mapping[str, str], group: str) -> str:
    """Return the end of an error about an unknown ``group`` (see `did_you_mean`); "" if there is none."""
    try:
        names = [listed.group for listed in Cluster(properties).list_groups().groups]
    except ClusterError:
        return ""
    return "" if group in names else did_you_mean(group, names)
