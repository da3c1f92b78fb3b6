"""Derives the facts that must have an event from the records of ``__consumer_offsets``.

- ``record_feed`` passes records to the entries of their groups: ``classic_entries``, ``epoch_entries``. These return
  the expected facts (``entries``), with the group as an ``audited_group``.
- ``compaction``: how far a partition may have been compacted.

Not here: the published events.
"""
