import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * A consumer whose callbacks take CALLBACK_MS: TOPIC CALLBACK_MS KEY=VALUE... It prints when revoked and lost callbacks
 * begin, and when assigned callbacks end, as in member_lines.py. A negative CALLBACK_MS: it has no listener. After a line
 * on standard input it stops polling; it ends at the end of standard input. With -Dreads=true it prints the records.
 */
public final class WrappedMember {
    private static final boolean PRINTS_READS = Boolean.getBoolean("reads");
    private static volatile boolean held;
    private static volatile boolean ended;

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (int index = 2; index < arguments.length; index++) {
            String[] pair = arguments[index].split("=", 2);
            properties.setProperty(pair[0], pair[1]);
        }
        Thread input = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    held = true;
                }
            } catch (java.io.IOException error) {
                // Ends, too.
            }
            ended = true;
        });
        input.setDaemon(true);
        input.start();
        long millis = Long.parseLong(arguments[1]);
        // Loads the classes that print, which take part of a second on a busy machine, before a callback uses them.
        Listener.print("assigned", System.currentTimeMillis(), Collections.emptyList());
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
            if (millis < 0) {
                consumer.subscribe(Collections.singletonList(arguments[0]));
            } else {
                consumer.subscribe(Collections.singletonList(arguments[0]), new Listener(millis));
            }
            while (!ended) {
                if (held) {
                    Thread.sleep(50);
                } else {
                    read(consumer.poll(Duration.ofMillis(50)));
                }
            }
        }
    }

    private static void read(ConsumerRecords<byte[], byte[]> records) {
        if (PRINTS_READS) {
            for (ConsumerRecord<byte[], byte[]> each : records) {
                System.out.println("read " + System.currentTimeMillis() + " " + each.partition() + " " + each.offset());
            }
        }
    }

    private static final class Listener implements ConsumerRebalanceListener {
        private final long millis;

        Listener(long millis) {
            this.millis = millis;
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            long now = System.currentTimeMillis();
            pause();
            print("revoked", now, partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            long now = System.currentTimeMillis();
            pause();
            print("lost", now, partitions);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            pause();
            print("assigned", System.currentTimeMillis(), partitions);
        }

        private void pause() {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }

        private static void print(String word, long now, Collection<TopicPartition> partitions) {
            String numbers = partitions.stream().map(each -> " " + each.partition()).sorted().collect(Collectors.joining());
            System.out.println(word + " " + now + numbers);
        }
    }
}
