"""Repeated calls in threads: ``schedule`` for intervals of seconds, ``ticker`` for several calls per second.

It is the only package that imports ``apscheduler``, which ``schedule`` uses.
"""
