"""Sets up Spark; it has no knowledge of tables or events.

- ``session``: creates the session; the only module with Spark's configuration.
- ``spark_java``, ``spark_jars``: find the Java that Spark runs on, and the locked jars.
- ``task_progress``: reports the progress of Spark's tasks.
- ``warehouse_folder``: removes a folder that Spark leaves behind.
"""
