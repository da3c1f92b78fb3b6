"""Watching one cluster: collectors, tracker and publisher connected, with or without a listener.

- ``cluster_watch``: the parts and their order; ``core``: the one thread that feeds the tracker.
- ``observer_share``: the share of one replica; ``in_process``: a watch inside a command.
- ``history_reader``, ``audit_source``: published events and the log, read once.
- ``episode_log``: one log line per rebalance.
"""
