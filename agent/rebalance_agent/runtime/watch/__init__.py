"""Watching one cluster: collectors, tracker and sinks connected, with or without HTTP listeners.

- ``cluster_watch``: the parts of a watch, composed in the order of the data path.
- ``core``: the thread that feeds the tracker; ``event_sinks``: `EventSink` and `ObservationListener`, which it calls.
- ``pauses``: how long the views of costly groups wait.
- ``inbox_age``: how far the tracker is behind. ``state_meter``: groups over the budget of its memory.
- ``observer_share``: ownership and snapshots of one replica; ``poll_triggers``: polls started before their time.
- ``episode_log``: one log line per rebalance; ``line_budget``: how many a group may cause.
- ``reachability``: the wait for the cluster. ``in_process``: a watch inside a command.
- ``history_reader``, ``audit_source``: published events and the offsets topic, read once from beginning to end.
"""
