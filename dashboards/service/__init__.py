"""The board Service: the groups of one service or team, for its owner."""
