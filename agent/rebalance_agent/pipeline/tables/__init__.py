"""The pipeline's tables: ``schemas`` has their columns and keys, ``delta_tables`` reads and writes them.

One module makes one table, as a pure function whose last step selects exactly the schema's columns. ``expectations``
and ``cross_checks`` check the tables in every run.
"""
