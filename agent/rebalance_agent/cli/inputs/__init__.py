"""Reads and validates the inputs of commands: an agent's API, cluster flags, files of events and records.

- ``agent_api``, ``groups_access``, ``cluster_flags``, ``cluster_settings``: open the source that the flags name.
- ``assign_io``: reads groups as JSON, which ``json_fields`` validates. ``line_files``, ``raw_records``: read files of
  lines and records as JSON; ``cluster_records``: reads the same records from a cluster.
- ``pipeline_flags``: defines the flags of the tables and of Spark, and shows progress on stderr.
- ``verify_files``, ``verify_tables``, ``whatif_past``, ``migration_inputs``: read the inputs of `verify`, `whatif` and
  `migrate`.
"""
