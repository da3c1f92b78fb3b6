package rebalanceagent.client;

import org.apache.kafka.clients.consumer.StickyAssignor;

/** Wraps Kafka's {@code StickyAssignor}. */
public final class InstrumentedStickyAssignor extends InstrumentedAssignor {
    /** Made by the consumer. */
    public InstrumentedStickyAssignor() {
        super(StickyAssignor.class);
    }
}
