"""Finds what changed in groups and clusters, and members that are slower than their peers.

- ``group_signals``: turns the hours of a group into daily values of stall, frequency and skew.
- ``daily_counts``: turns rebalances per day into values with a known variance, and generates random days.
- ``scan``: finds the span of days that differs most, and the probability that chance explains the difference.
- ``change_points``: finds the changes of a group, with their hours and sizes.
- ``false_discoveries``: limits the share of false discoveries over all groups.
- ``beside``: finds deploys and other events at the time of a change; ``sentences``: describes the change.
- ``peer_outliers``: finds members that are slower than their peers.
- ``candidates``: runs these steps for one group, in Spark's workers; ``change_tables``: computes the tables from other
  tables.

No other package imports ``numpy``. Only ``candidates`` and ``change_tables`` need Spark.
"""
