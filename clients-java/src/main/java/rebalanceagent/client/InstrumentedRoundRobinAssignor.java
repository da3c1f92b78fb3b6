package rebalanceagent.client;

import org.apache.kafka.clients.consumer.RoundRobinAssignor;

/** Wraps Kafka's {@code RoundRobinAssignor}. */
public final class InstrumentedRoundRobinAssignor extends InstrumentedAssignor {
    /** Made by the consumer. */
    public InstrumentedRoundRobinAssignor() {
        super(RoundRobinAssignor.class);
    }
}
