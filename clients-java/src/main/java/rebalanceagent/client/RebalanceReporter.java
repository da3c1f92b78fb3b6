package rebalanceagent.client;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;

/**
 * Reads the lengths of a consumer's rebalance callbacks from its own metrics, for {@link InstrumentedAssignor}. List it
 * in {@code metric.reporters}. Values and readers of the metrics do not change.
 */
public final class RebalanceReporter implements MetricsReporter {
    private static final String COORDINATOR = "consumer-coordinator-metrics";
    private static final String CONSUMER = "consumer-metrics";
    private static final String POLLS = "time-between-poll-avg";
    private static final Map<String, Callback> CALLBACKS = Map.of(
            "partition-revoked-latency-avg", Callback.REVOKED,
            "partition-assigned-latency-avg", Callback.ASSIGNED,
            "partition-lost-latency-avg", Callback.LOST);

    private Member member;

    @Override
    public void configure(Map<String, ?> configs) {
        Quietly.run("watch a consumer", () -> member = Members.begin(configs));
    }

    @Override
    public void init(List<KafkaMetric> metrics) {
        metrics.forEach(this::metricChange);
    }

    @Override
    public void metricChange(KafkaMetric metric) {
        Member watched = member;
        if (watched == null) {
            return;
        }
        Quietly.run("watch a metric", () -> {
            String name = metric.metricName().name();
            String group = metric.metricName().group();
            if (group.equals(COORDINATOR) && CALLBACKS.containsKey(name)) {
                Callback callback = CALLBACKS.get(name);
                LastRecorded last = new LastRecorded(metric);
                RecordHook.install(metric, nowMs -> watched.ran(callback, nowMs, last.take()));
            } else if (group.equals(CONSUMER) && name.equals(POLLS)) {
                RecordHook.install(metric, nowMs -> watched.polled());
            }
        });
    }

    @Override
    public void metricRemoval(KafkaMetric metric) {}

    /** The consumer was closed: waits at most half a second for the last post. */
    @Override
    public void close() {
        Member watched = member;
        if (watched != null) {
            Quietly.run("report the end of a consumer", watched::closed);
        }
    }
}
