"""The rules of seats as functions without state: who may have a seat, who may take it over, how long one waits.

- ``eligibility``: who may have a seat, and which; ``join_profile``: whether two consumers are equal.
- ``leave_rules``: whether the seat of a consumer that leaves is kept; ``wait_times``: how long newcomers wait.
- ``seat_answers``: the errors that a client is shown; ``act_reasons``: why something is not done.
- ``seat_settings``: the mode and all limits.
"""
