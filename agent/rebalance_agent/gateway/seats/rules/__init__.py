"""The rules for seats, as stateless functions.

- ``eligibility``: decides which consumers may have which seat; ``join_profile``: compares consumers.
- ``leave_rules``: decides whether the seat of a consumer that leaves is kept; ``wait_times``: computes how long
  newcomers wait and seats are kept.
- ``seat_answers``: decides which errors a client gets; ``act_reasons``: the reasons why JoinGroups are forwarded
  unchanged and seats are given up.
- ``seat_settings``: the mode and all limits; ``short_hash``: hashes that are stored instead of long names.
"""
