"""The events of actions on seats, and the costs and savings of these actions.

- ``vacancies``: computes what a group's vacant seats cost, and what is saved when seats are taken or given up.
- ``act_outcomes``: reports whether handovers and joint admissions had the intended effect.
- ``act_events``: publishes the events of all groups.
"""
