"""The pure tracker: observations in, events out; time is an argument.

No I/O, no threads, no clock, no metrics: what is known of each group is read as a `GroupView`. How it fits together:

- ``observations``: all it can be told; ``views``: all that can be read from it; ``tracker``: the one door.
- ``groups``: all that it follows; ``deadlines``: when each has something to do; ``polled``: those that are known from
  DescribeGroups alone.
- ``classic``: the state machine of one classic group; ``epochs``: of one whose coordinator assigns; ``following``: what
  both do, and hand on when a group migrates; ``missing``: generations that were begun and never completed.
- ``roll``: what the records of a group say together whose coordinator assigns; ``backlog``, ``handovers``: the way of
  its partitions; ``early``: its records until it is known whether it is new.
- ``running``, ``starts``: a rebalance that has begun, and since when; ``generations``: what a record says, in context.
- ``news``: which records of a classic group say anything new; ``dating``: when what they end began.
- ``episodes``: open, closed, settled, revisable; ``settling`` makes the events of one from ``stall``, ``triggers`` and
  ``slowness``, with ``memberlog`` for what members said, ``lastsigns`` for what is known of those that went, and
  ``judging`` for what the assignors think of it.
- ``loads``: skew by lag and rate, from what ``production`` makes of partitions' ends; ``copartition``: topics that are
  declared to be read side by side.
- ``ledger``: a group's totals; ``topics``: the cluster's; ``portrait``: the part of a view that a record decides.
"""
