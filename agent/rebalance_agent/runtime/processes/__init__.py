"""The three roles as processes, and the common parts of every process.

It is the only package that imports ``apscheduler``, for ``schedule``.

- ``observer``, ``sidecar``, ``gateway``: one role each.
- ``process``: the wait for the cluster; ``logged_health``: readiness that is logged.
- ``schedule``, ``ticker``: repeated calls; ``signals``, ``logs``, ``memory``: stop signals, log format, allocation.
"""
