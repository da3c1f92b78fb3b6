"""The episodes of a group: rebalances as users experience them, of one generation or several.

- ``group_episodes``: keeps the open, closed, settled and revisable episodes.
- ``episode_stages``: an episode before and after its events are published.
- ``followups``: decides which generations belong to the episode of the one before.
"""
