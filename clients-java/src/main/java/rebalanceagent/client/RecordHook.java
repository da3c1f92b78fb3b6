package rebalanceagent.client;

import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Quota;

/**
 * A metric's configuration that runs an action after each recorded value, on the recording thread.
 *
 * <p>Kafka has no listener for that. {@code Sensor.record} asks for the quota of each of its metrics after it has stored
 * the value; the other settings are the replaced configuration's.
 */
final class RecordHook extends MetricConfig {
    private final LongConsumer action;

    private RecordHook(MetricConfig replaced, LongConsumer action) {
        this.action = action;
        quota(replaced.quota());
        samples(replaced.samples());
        eventWindow(replaced.eventWindow());
        timeWindow(replaced.timeWindowMs(), TimeUnit.MILLISECONDS);
        tags(replaced.tags());
        recordLevel(replaced.recordLevel());
    }

    /** Run {@code action} after each value of {@code metric}, with the time in epoch milliseconds. */
    static void install(KafkaMetric metric, LongConsumer action) {
        metric.config(new RecordHook(metric.config(), action));
    }

    @Override
    public Quota quota() {
        long nowMs = System.currentTimeMillis(); // first: classes that the rest needs may have to be loaded
        Quietly.run("read a metric", () -> action.accept(nowMs));
        return super.quota();
    }
}
