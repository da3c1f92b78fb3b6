"""The three roles as processes, and the common parts of every process.

- ``observer``, ``sidecar``, ``gateway``: one role each.
- ``reported_readiness``: whether consumers that report have their assignment.
- ``rights_watch``: permissions that are missing at run time; ``logged_health``: readiness that is logged.
- ``signals``, ``logs``, ``memory``: stop signals, log format, allocation.
"""
