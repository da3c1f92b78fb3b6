"""Defines the pipeline's Delta tables: their schemas, their storage, and how each table is computed from others.

- ``schemas``, ``change_schemas``, ``advice_schemas``: define the columns and the key of each table;
  ``delta_tables``: reads and writes the tables.
- ``generations``, ``members``, ``group_hours``, ``baselines``, ``whatif_tables`` (also ``fidelity``): compute one table
  each, as a pure function whose last step selects exactly the schema's columns.
- ``whole_generations``: checks a generation with all its members; ``generation_spans``: computes how long each
  generation lasted.
- ``repeated_events``: deletes rows of events whose id is repeated on another day.
- ``expectations``, ``cross_checks``: check the tables in every run.

``ingest`` reads the input; ``rebalance_agent.advice`` computes what-if and advice.
"""
