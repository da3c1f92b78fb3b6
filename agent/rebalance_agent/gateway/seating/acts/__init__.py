"""What acts about seats cost and spare, and their events.

- ``vacancies``: what the vacant seats of a group cost, and what taking them or giving them up spared.
- ``handover_outcomes``: whether handovers did what they promise.
- ``act_events``: the events of all groups.
"""
