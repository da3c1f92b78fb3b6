"""Bytes to model values and back: the consumer protocol, assignors' user data, records of ``__consumer_offsets``.

What messages look like is said in tables (`tables`, `consumer`), written in a small language (`schema`, `primitives`,
`message`); bytes are touched in `wire` only. A new record type is a new table and no code. Everything that comes in is
bounded by the bytes that are there: no length or count is believed. The only error that bytes can cause is
``DecodeError``.

Not here: Kafka's requests and responses (the clients do those), and anything that keeps state between records.
"""
