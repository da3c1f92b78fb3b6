"""The pure tracker: observations in, events out; time is an argument.

No I/O, no threads, no clock, no metrics: what is known of each group is read as a `GroupView`.
"""
