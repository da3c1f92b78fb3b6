"""Programs that import an adapter by its former name get the same class."""

from __future__ import annotations

import importlib
import warnings

import pytest


@pytest.mark.parametrize(
    ("former", "now"),
    [
        ("rebalance_agent.clients.confluent", "rebalance_agent.clients.confluent_assignors"),
        ("rebalance_agent.clients.confluent_plain", "rebalance_agent.clients.confluent_kafka"),
    ],
)
def test_a_former_name_gives_the_same_consumer(former, now):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert importlib.import_module(former).Consumer is importlib.import_module(now).Consumer
