"""Derives recommendations, and follows each one: whether the group took it, and how much stall that really saved.

- ``recommendation_rows``: computes the table ``recommendations``.
- ``given_advice``: defines advice, one change of a recommendation.
- ``adoption``: finds when a group followed advice, and the days before and after that can be compared.
- ``weekly_stall``: computes the stall per week with a confidence interval.
- ``advice_state``: derives the state and the saving of one advice.
- ``advice_table``: computes the table ``advice`` with Spark; ``advice_rows``: computes one group's rows in its workers.
- ``advice_words``: writes a row of this table as text; ``advice_sums``: sums up the rows of each state.

The statistics need no Spark.
"""
