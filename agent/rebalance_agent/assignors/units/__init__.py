"""Strategies that keep partitions together: co-partitioned topics and tasks, with standby copies on other members.

- ``copartitioned``, ``tasks``: the strategies; ``unit_strategy``: their common plan, promise and user data;
  ``subtopologies``: the setting that describes tasks.
- ``units``: plans the units of a roster and their copies; ``unit_assignment``: assigns units to hosts; ``near_state``:
  keeps units near their state until copies are built.
- ``standby_spread``: assigns standby copies to hosts; ``standbys``: the settings that strategies with standbys share.
"""
