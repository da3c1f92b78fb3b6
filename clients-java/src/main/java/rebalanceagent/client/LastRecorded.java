package rebalanceagent.client;

import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.stats.Avg;
import org.apache.kafka.common.metrics.stats.SampledStat;

/**
 * The value that was recorded last in a metric of averages, in milliseconds.
 *
 * <p>The metric has the sum and the number of the values in its current time window; the difference since the last call
 * is the new value. (A subclass of {@code Avg}, since only these may name its samples.)
 */
final class LastRecorded extends Avg {
    private final SampledStat average;
    private Sample sample;
    private long count;
    private double sum;

    /** @throws ClassCastException it is no metric of averages */
    LastRecorded(KafkaMetric metric) {
        average = (SampledStat) metric.measurable();
    }

    /** The value recorded just now; to be called after each one, on the recording thread. */
    long take() {
        Sample now = average.current(System.currentTimeMillis());
        boolean more = now == sample && now.eventCount == count + 1;
        double value = more ? now.value - sum : now.value / now.eventCount; // a new window has one value
        sample = now;
        count = now.eventCount;
        sum = now.value;
        return Math.round(value);
    }
}
