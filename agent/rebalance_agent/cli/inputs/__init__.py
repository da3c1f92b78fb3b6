"""Inputs of commands: an agent's API, cluster flags, files of events and records. All of it is validated here.

- ``agent_api``, ``groups_access``, ``cluster_flags``, ``cluster_settings``: the source that the flags name.
- ``assign_io``, ``json_fields``: groups as JSON. ``line_files``, ``raw_records``: files of lines, records as JSON;
  ``cluster_records``: the same records, read from a cluster.
- ``pipeline_flags``: flags of the tables and of Spark, and progress on stderr.
- ``verify_files``, ``verify_tables``, ``whatif_past``, ``migration_inputs``: inputs of `verify`, `whatif`,
  `migrate`.
"""
