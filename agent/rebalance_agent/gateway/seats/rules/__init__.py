"""The rules of seats, as stateless functions: which consumers may have a seat or take one over, and waiting times.

- ``eligibility``: which consumers may have which seat; ``join_profile``: whether two consumers are equal.
- ``leave_rules``: whether the seat of a consumer that leaves is kept; ``wait_times``: how long newcomers wait.
- ``seat_answers``: the errors that a client gets; ``act_reasons``: the reasons why an act is not done.
- ``seat_settings``: the mode and all limits; ``short_hash``: hashes that are stored instead of long names.
"""
