// A Java consumer that reports its rebalances to `rebalance-agent sidecar`, and prints its partitions.
//
//   javac -cp 'libs/*' ReportingConsumer.java     # libs: kafka-clients and slf4j-api
//   java -cp 'libs/*:.' ReportingConsumer BOOTSTRAP_SERVERS TOPIC GROUP CLIENT_ID
//
// It runs until you press Enter. Your own consumer needs only Reporting: pass it to subscribe(), and close it last.
import java.net.URI;
import java.net.http.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

class Reporting implements ConsumerRebalanceListener, AutoCloseable {
    private static final String URL = System.getenv().getOrDefault("REBALANCE_AGENT_EVENTS_URL", "http://127.0.0.1:29309/v1/events");
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(2)).build();
    private final String id = UUID.randomUUID().toString(); // id and sequence identify an event
    private final ScheduledThreadPoolExecutor poster = new ScheduledThreadPoolExecutor(1, task -> {
        Thread thread = new Thread(task, "rebalance-reports"); thread.setDaemon(true); return thread;
    });
    private final Consumer<?, ?> consumer; private final ConsumerRebalanceListener yours; private final String clientId;
    private ConsumerGroupMetadata group; // of the last callback
    private long sequence;

    Reporting(Consumer<?, ?> consumer, String clientId, ConsumerRebalanceListener yours) {
        this.consumer = consumer; this.clientId = clientId; this.yours = yours;
        poster.scheduleAtFixedRate(() -> post(""), 2, 2, TimeUnit.MINUTES); // it is alive
    }

    public void onPartitionsRevoked(Collection<TopicPartition> partitions) { report("revoked", partitions, () -> yours.onPartitionsRevoked(partitions)); }
    public void onPartitionsLost(Collection<TopicPartition> partitions) { report("lost", partitions, () -> yours.onPartitionsLost(partitions)); }
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) { report("assigned", partitions, () -> yours.onPartitionsAssigned(partitions)); }

    public void close() throws InterruptedException {
        if (group != null) report("left", List.of(), () -> {});
        poster.shutdown(); poster.awaitTermination(2, TimeUnit.SECONDS);
    }

    private void report(String callback, Collection<TopicPartition> partitions, Runnable yours) {
        long startedMs = System.currentTimeMillis();
        if (!callback.equals("left")) group = consumer.groupMetadata();
        yours.run();
        Map<String, StringJoiner> topics = new TreeMap<>();
        partitions.stream().sorted(Comparator.comparingInt(TopicPartition::partition)).forEach(each ->
                topics.computeIfAbsent(each.topic(), topic -> new StringJoiner(",", "\"" + topic + "\":\"", "\"")).add("" + each.partition()));
        String line = String.format("{\"kind\":\"member\",\"schema_version\":1,\"callback\":\"%s\",\"group\":\"%s\",\"client_id\":\"%s\",\"member_id\":\"%s\","
                + "\"generation\":%d,\"started_ms\":%d,\"timestamp_ms\":%d,\"partitions\":{%s},\"process\":\"%s\",\"sequence\":%d}\n",
                callback, group.groupId(), clientId, group.memberId(), group.generationId(), startedMs, System.currentTimeMillis(),
                String.join(",", topics.values().stream().map(Object::toString).toArray(String[]::new)), id, ++sequence);
        if (poster.getQueue().size() < 1000) poster.execute(() -> post(line)); // the consumer does not wait for it
    }

    private void post(String body) {
        try {
            HttpRequest request = HttpRequest.newBuilder(URI.create(URL)).timeout(Duration.ofSeconds(2)).header("X-Rebalance-Agent-Alive", id)
                    .POST(HttpRequest.BodyPublishers.ofString(body)).build();
            HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() >= 300) System.err.println("report refused: " + answer.body());
        } catch (java.io.IOException | InterruptedException error) {} // without a sidecar only the report is lost
    }
}

public class ReportingConsumer {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0], "group.id", arguments[2], "client.id", arguments[3], "heartbeat.interval.ms", 500,
                "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class);
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings);
        ConsumerRebalanceListener yours = new ConsumerRebalanceListener() {
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) { System.out.println("assigned " + partitions); }
        };
        try (Reporting reporting = new Reporting(consumer, arguments[3], yours); consumer) { // the consumer is closed first
            consumer.subscribe(List.of(arguments[1]), reporting);
            while (System.in.available() == 0) consumer.poll(Duration.ofMillis(100)); // until Enter
        }
    }
}
