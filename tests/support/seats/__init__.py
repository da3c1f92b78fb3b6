"""A model of seats: a coordinator of the classic protocol, clients, gateways and their locks, in simulated time.

It shares no code with `rebalance_agent.testing.simulation`: what is checked here are the facts of the protocol on which
seats rest, each of which was measured on brokers 4.3 and 4.4.
"""
