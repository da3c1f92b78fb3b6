"""Runs the three roles as processes; contains the common parts of every process.

- ``observer``, ``sidecar``, ``gateway``: each runs one role.
- ``reported_readiness``: tracks whether the consumers that report to a process have their assignment.
- ``rights_watch``: reports permissions that are missing at run time; ``logged_health``: logs changes of readiness.
- ``signals``: handles stop signals; ``logs``: sets the log format; ``memory``: tunes Python and the allocator.
"""
