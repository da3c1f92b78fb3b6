"""Frozen values that every other room speaks in: groups, subscriptions, assignments, episodes, events.

No effects, no clients, no clock; nothing here imports another room but ``errors``.
"""
