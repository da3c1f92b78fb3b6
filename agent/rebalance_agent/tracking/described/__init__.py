"""Groups that only descriptions show.

- ``described_state``: a group whose coordinator assigns, with its epochs: its generations and their bounds.
  ``described_owners``: when its partitions changed owners.
- ``polled_group``: any other group: its view at each poll, without generations and episodes.
"""
