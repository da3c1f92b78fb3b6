"""The jar of ``clients-java``, compiled by Eclipse's compiler on the Java runtime of the embedded Kafka."""
