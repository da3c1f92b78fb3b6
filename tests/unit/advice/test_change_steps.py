"""How the members of a group change to another assignor, in sentences."""

from dataclasses import replace

from rebalance_agent.advice import Figures, WhatIf
from rebalance_agent.advice.change_steps import steps
from rebalance_agent.advice.client_kinds import ClientKind
from rebalance_agent.model.group import RebalanceProtocol


def said(old, new, *kinds, gateway=()):
    """The steps from ``old`` to ``new``; ``kinds``: libraries of members; ``gateway``: of those behind a gateway."""
    clients, behind = (
        tuple((kind,) if isinstance(kind, ClientKind) else kind for kind in each) for each in (kinds, gateway)
    )
    group = WhatIf("c", "g", old, RebalanceProtocol.EAGER, Figures(), Figures(), ())
    return " ".join(steps(replace(group, clients=clients, gateway_clients=behind, partitions=12), new))


def weighted(*kinds, gateway=()):
    return said("weighted-sticky", "cooperative-weighted-sticky", *kinds, gateway=gateway)


def test_only_our_consumer_class_runs_our_strategies_with_confluent_kafka():
    sentence = weighted((ClientKind.KAFKA_PYTHON, ClientKind.LIBRDKAFKA, ClientKind.AIOKAFKA))
    assert "kafka-python and confluent-kafka with our consumer class: two rolling restarts" in sentence
    assert "librdkafka" not in sentence


def test_behind_a_gateway_librdkafka_needs_a_stop_and_two_settings():
    assert weighted(gateway=[ClientKind.LIBRDKAFKA]) == (
        "A gateway runs weighted-sticky for the members. Stop all members, change the rule in gateway_groups to "
        "cooperative-weighted-sticky and the clients' partition.assignment.strategy to cooperative-sticky, restart the "
        "gateways, and start the members again; each second of the stop costs 12 partition-seconds. A client of "
        "librdkafka cannot list its present assignor and cooperative-sticky together."
    )


def test_behind_a_gateway_clients_that_list_both_assignors_change_one_by_one():
    assert weighted(gateway=[ClientKind.JAVA]) == (
        "A gateway runs weighted-sticky for the members. The change takes two rolling restarts of the members, first "
        "with their present assignor and cooperative-sticky in partition.assignment.strategy, then with "
        "cooperative-sticky alone and with the rule in gateway_groups changed to cooperative-weighted-sticky."
    )


def test_behind_a_gateway_the_steps_of_unknown_clients_are_listed():
    sentence = weighted(gateway=[(ClientKind.JAVA, ClientKind.LIBRDKAFKA, ClientKind.SARAMA)])
    assert "The steps depend on the members' client library, which is unknown. Java: two rolling" in sentence
    assert "librdkafka: all members must stop at the same time" in sentence
    assert "Sarama: not possible (no cooperative assignor)." in sentence


def test_some_members_behind_a_gateway_change_in_another_way_than_the_others():
    sentence = weighted(ClientKind.KAFKA_PYTHON, gateway=[ClientKind.LIBRDKAFKA])
    assert "The change takes two rolling restarts: first with both assignors in each member's partition." in sentence
    assert "A gateway runs weighted-sticky for some members. Stop all members" in sentence


def test_a_gateway_changes_to_a_strategy_of_the_same_protocol_by_its_rule_alone():
    assert said("shuffled-roundrobin", "sticky", gateway=[ClientKind.KAFKAJS]) == (
        "A gateway runs shuffled-roundrobin for the members. Change the rule in gateway_groups to sticky, and restart "
        "the gateways one by one; the clients need no change."
    )
