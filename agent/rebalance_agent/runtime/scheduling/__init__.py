"""Repeated calls in threads: ``schedule`` for intervals of seconds, ``ticker`` for several calls per second.

Only this package imports ``apscheduler``, for the module ``schedule``.
"""
