import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/**
 * A consumer that times its calls of poll(): TOPIC RECORDS EMPTY KEY=VALUE... It reads RECORDS records, then calls
 * poll(0) EMPTY times without records, and prints the median and the 99th percentile of both kinds of calls, in
 * nanoseconds, and the processor time of its main thread for all of them.
 */
public final class TimedPolls {
    public static void main(String[] arguments) {
        int records = Integer.parseInt(arguments[1]);
        int empty = Integer.parseInt(arguments[2]);
        Properties properties = new Properties();
        for (int index = 3; index < arguments.length; index++) {
            String[] pair = arguments[index].split("=", 2);
            properties.setProperty(pair[0], pair[1]);
        }
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
            consumer.subscribe(Collections.singletonList(arguments[0]), new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsRevoked(java.util.Collection<org.apache.kafka.common.TopicPartition> gone) {}

                @Override
                public void onPartitionsAssigned(java.util.Collection<org.apache.kafka.common.TopicPartition> got) {}
            });
            while (consumer.assignment().isEmpty()) {
                records -= consumer.poll(Duration.ofMillis(100)).count();
            }
            long cpu = java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            long[] full = new long[records];
            int calls = 0;
            while (records > 0) {
                long start = System.nanoTime();
                int count = consumer.poll(Duration.ofMillis(100)).count();
                long took = System.nanoTime() - start;
                if (count > 0) {
                    full[calls++] = took;
                    records -= count;
                }
            }
            long[] none = new long[empty];
            for (int index = 0; index < empty; index++) {
                long start = System.nanoTime();
                consumer.poll(Duration.ZERO);
                none[index] = System.nanoTime() - start;
            }
            cpu = java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - cpu;
            full = Arrays.copyOf(full, calls);
            System.out.println(percentile(full, 50) + " " + percentile(full, 99) + " " + percentile(none, 50) + " "
                + percentile(none, 99) + " " + cpu);
        }
    }

    private static long percentile(long[] values, int percent) {
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
    }
}
