"""Derives, from the records of ``__consumer_offsets``, the facts for which an event must exist.

- ``record_feed``: passes records to the entries of their groups. ``classic_entries``, ``epoch_entries``: return the
  expected facts; ``entries``: defines such a fact, with the state of its group (``audited_group``).
- ``compaction``: determines up to which offset a partition may have been compacted.

This package does not read the published events.
"""
