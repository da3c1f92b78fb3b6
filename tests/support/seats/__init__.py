"""A model of seats: a coordinator of the classic protocol, clients, gateways and their locks, in simulated time.

It shares no code with `rebalance_agent.testing.simulation`: it contains the facts of the protocol that seats depend on,
each of them measured on brokers 4.3 and 4.4.
"""
