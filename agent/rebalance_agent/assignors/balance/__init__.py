"""Computes how many partitions each member gets, with the optimal balance and the fewest moves, and then which ones.

- ``promise``: the share of each member; ``shares``: fair shares with mixed subscriptions; ``levels``: the check for one
  level; ``group_levels``: a group of several levels, split.
- ``placement``: partitions of each topic per member; ``draft``: a first attempt, ``bounds``: the proof that it is best;
  ``exact``: the search if there is no proof; ``flow``: flows in networks; ``counts``: the result.
- ``dealing``: from counts to partitions; ``slices``: dealing in turn; ``releasing``: partitions that members give up.
- ``member_classes``: members with equal subscriptions.
"""
