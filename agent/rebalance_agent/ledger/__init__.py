"""An independent account of what was told: the coordinators' own log against the published events.

It reads records (`groupprotocol`), works out by itself which generations, aborted generations and deletions there were,
and holds each against its event, the event against its record, counters and hours against sums of events, and the rows
of tables against the events that they were made of. It shares nothing with the tracker (`rebalances`) or with
`model.diff`; an import contract sees to that: a mistake made there is not made here again.

Pure, and in one pass: an event takes less than a kilobyte, a group its last two generations. Not here: reading Kafka or
files (`runtime.verifying`), and printing (`cli.verify`).
"""
