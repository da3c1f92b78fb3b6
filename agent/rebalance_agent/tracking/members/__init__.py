"""The members of a group as its view shows them.

- ``shown_members``: the members and counts over them, updated member by member.
- ``shared_counts``: counts how many members share a value.
- ``measured_quality``: the quality of their assignment, which is measured over all of them.
"""
