"""Describes groups and their rebalances in sentences and table rows, for `explain`, `watch` and the agent's page. Pure.

- ``explanation``: explains the last rebalances of a group; package ``explained``: one of these rebalances.
- ``group_table``: computes the table of all groups. Other modules describe one problem each: ``empty_text``: groups
  without members; ``group_stall``: groups that are largely stalled; ``former_owner``: removed members that still
  held partitions; ``catch_up_text``: the lag, and moved partitions that are catching up; ``storms``: groups that
  rebalance repeatedly; ``unsettled``: rebalances that cannot be explained yet.
- ``dead_letter_text``: where the archived records of a share group go; ``deliveries_text``: the records that gateways
  have seen delivered. ``host_spread_text``: how many topics are on one
  host. ``topology_text``: the topics that the subtopologies of a streams group read and write.
- ``group_detail``: writes headline, members, rebalances and moves of one group as rows.
- ``named_members``: writes the names of members and the moves of partitions between members.
"""
