"""Adapters to Kafka clients, one each: the only room whose modules import one, and then only the one they are for.

What they share is in ``instrumentation``; an adapter translates a client's own words and adds nothing of its own.
"""
