"""Finds what changed in groups and clusters, and members that are slower than their peers.

- ``group_signals``: the hours of a group, and the daily values of stall, frequency and skew.
- ``scan``: the span of days that differs most, and its probability by chance.
- ``change_points``: the changes of a group, with hour and size.
- ``false_discoveries``: limits the share of false ones among all groups.
- ``beside``: deploys and other changes beside a change; ``sentences``: describes it.
- ``peer_outliers``: members slower than their peers.
- ``candidates``: all of it for one group, in Spark's workers; ``change_tables``: the tables, from other tables.

It is the only package that imports ``numpy``. All but the last two need no Spark.
"""
