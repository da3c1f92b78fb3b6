package rebalanceagent.client;

import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;

/** Wraps Kafka's {@code CooperativeStickyAssignor}. */
public final class InstrumentedCooperativeStickyAssignor extends InstrumentedAssignor {
    /** Made by the consumer. */
    public InstrumentedCooperativeStickyAssignor() {
        super(CooperativeStickyAssignor.class);
    }
}
