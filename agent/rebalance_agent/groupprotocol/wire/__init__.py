"""The wire format: schemas of Kafka messages, and the readers and writers that follow them.

- ``schema``, ``primitives``, ``message``: the schema language.
- ``byte_reader``: a bounds-checked reader; ``compiled_reader``: the reader of one schema, compiled to one function.
- ``frames``: headers of requests and responses; ``streams_structs``: structures that several schemas have in common.
- ``error_codes``: Kafka's error codes that the agent acts on.
- ``memo``: a cache for functions with short, frequent arguments.
"""
