"""The group member: kafka-python's consumer on a thread of its own, which fetches no records.

- ``membership_thread``: joins and leaves; ``group_member``: kafka-python's consumer; ``committer``: commits.
- ``thread_handover``: runs rebalance callbacks on the application's thread; ``poll_interval``: max.poll.interval.ms.
"""
