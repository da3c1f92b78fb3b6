"""The pipeline's Delta tables: their schemas, how they are stored, and how they are computed from each other.

- ``schemas``, ``change_schemas``: columns and keys of every table; ``delta_tables``: reads and writes the tables.
- ``generations``, ``members``, ``group_hours``, ``baselines``, ``whatif_tables`` (also ``fidelity``),
  ``recommendations``: compute one table each, as a pure function whose last step selects exactly the schema's columns.
- ``baselines_topic``: publishes the baselines to Kafka.
- ``whole_generations``: what only all members of a generation show; ``generation_spans``: how long each one lasted.
- ``expectations``, ``cross_checks``: check the tables in every run.

Reading input is done in ``ingest``; what-if and advice are computed in ``rebalance_agent.advice``.
"""
