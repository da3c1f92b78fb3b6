"""Computes how many partitions each member gets, with the best balance and fewest moves; then picks them.

- ``promise``: computes the promised share of each member; ``shares``: computes fair shares with mixed subscriptions;
  ``levels``: checks whether a group has one level; ``group_levels``: splits a group with several levels.
- ``placement``: computes how many partitions of each topic a member gets. ``draft``: makes a first attempt; ``bounds``:
  proves that the attempt is best; ``exact``: searches if there is no proof, with ``flow`` for flows in networks;
  ``counts``: holds the result.
- ``dealing``: turns counts into partitions; ``slices``: deals partitions in turn; ``releasing``: selects partitions
  that members give up.
- ``member_classes``: finds members with equal subscriptions.
"""
