"""Repeated calls in threads: ``schedule`` for those at intervals of seconds, ``ticker`` for several calls a second.

It is the only package that imports ``apscheduler``, for ``schedule``.
"""
