"""The pure tracker: observations in, events out; time is an argument.

No I/O, no threads, no clock, no metrics: what is known of each group is read as a `GroupView`. How it fits together:

- ``observations``: all it can be told; ``views``: all that can be read from it; ``tracker``: the one door.
- ``classic``: the state machine of one classic group; ``epochs``: of one whose coordinator assigns; ``following``: what
  both do, and hand on when a group migrates; ``polled``: a group known from DescribeGroups alone.
- ``roll``: what the records of such a group say together; ``backlog``, ``handovers``: its partitions on their way.
- ``running``, ``starts``: a rebalance that has begun, and since when; ``generations``: what a record says, in context.
- ``episodes``: open, closed, settled, revisable; ``settling`` makes the events of one from ``stall``, ``triggers`` and
  ``slowness``, with ``memberlog`` for what members said and ``judging`` for what the assignors think of it.
- ``loads``: skew by lag and rate, from what ``production`` makes of partitions' ends; ``copartition``: topics that are
  declared to be read side by side.
- ``ledger``: a group's totals; ``topics``: the cluster's; ``portrait``: the part of a view that a record decides.
"""
