"""Watches one cluster: connects collectors, tracker and sinks, with or without HTTP listeners.

- ``cluster_watch``: the parts of a watch, composed in the order of the data path.
- ``core``: the thread that feeds the tracker; ``event_sinks``: `EventSink` and `ObservationListener`, which it calls.
- ``pauses``: decides how long the views of costly groups wait.
- ``inbox_age``: measures how far the tracker lags. ``state_meter``: reports groups that exceed the memory budget.
- ``observer_share``: manages one replica's ownership and snapshots; ``poll_triggers``: starts polls early.
- ``episode_log``: logs one line per rebalance; ``line_budget``: limits the log lines that a group may cause.
- ``reachability``: waits for the cluster. ``in_process``: runs a watch inside a command.
- ``history_reader``, ``audit_source``: read published events and the offsets topic once, from beginning to end.
"""
