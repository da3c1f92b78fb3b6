"""Publishes events of acts on seats, and computes the costs and savings of these acts.

- ``vacancies``: computes the cost of a group's vacant seats, and the savings when seats are taken or given up.
- ``act_outcomes``: reports whether handovers and joint admissions had the intended effect.
- ``act_events``: publishes the events of all groups.
"""
