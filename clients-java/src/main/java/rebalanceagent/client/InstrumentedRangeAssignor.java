package rebalanceagent.client;

import org.apache.kafka.clients.consumer.RangeAssignor;

/** Wraps Kafka's {@code RangeAssignor}. */
public final class InstrumentedRangeAssignor extends InstrumentedAssignor {
    /** Made by the consumer. */
    public InstrumentedRangeAssignor() {
        super(RangeAssignor.class);
    }
}
