"""An independent check of published events against the records of ``__consumer_offsets``.

It decodes the records (`groupprotocol`), derives the generations, aborted generations and deletions by itself, and
compares each with its event, counters and hours with sums of events, and table rows with their events. It shares no
code with the tracker (`tracking`) or with `model.generation_diff`, so that an error there is not repeated here; an
import contract checks this.

It is pure and works in one pass: memory is under a kilobyte per event, and the last two generations per group. Not
here: reading Kafka or files (`runtime.watch.audit_source`, `cli.inputs`), and printing (`cli.commands.verify`).

- ``ledger`` is the entry point: all events, then all records, then the report (``audit_report``).
- ``expected``: the facts that follow from the records. ``audited_group``: the group at one of them.
- ``published_event``, ``published_events``: the events, reduced to what is compared.
- ``matching`` compares the facts of a group with its events, ``phase_check`` their times.
- ``lifetime_counters``: counters of a process; ``table_rows``, ``group_hour_check``: rows of the pipeline's tables.
"""
