"""Strategies whose partitions stay together: co-partitioned topics and tasks, with standby copies on other members.

- ``copartitioned``, ``tasks``: the strategies; ``unit_strategy``: what they share;
  ``subtopologies``: the setting that describes tasks.
- ``units``: units and hosts of a roster; ``unit_assignment``: assigns units to hosts; ``near_state``: lets units wait
  for copies.
- ``standby_spread``: assigns standby copies to hosts; ``standbys``: settings and user data with standbys.
"""
