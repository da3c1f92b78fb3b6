"""Groups that are known only from descriptions.

- ``described_state``: the state of a group whose coordinator assigns: the generations from its epochs, and bounds for
  their times. ``described_owners``: when the group's partitions changed owners.
- ``polled_group``: the view of any other group at each poll, without generations and episodes.
"""
