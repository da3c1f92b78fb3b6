"""The events of acts about seats, and their costs and savings.

- ``vacancies``: the costs of vacant seats of a group, and the savings of taking them or giving them up.
- ``act_outcomes``: whether handovers and joint admissions had the intended effect.
- ``act_events``: the events of all groups.
"""
