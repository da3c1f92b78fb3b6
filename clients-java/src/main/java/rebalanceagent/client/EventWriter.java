package rebalanceagent.client;

import java.io.IOException;
import java.io.InputStream;
import java.util.Collection;
import java.util.Properties;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.common.TopicPartition;

/** Writes one member's events as lines of JSON, numbered, and hands them to the poster. */
final class EventWriter {
    private static final int ERROR_TEXT_MAX = 1000;
    private static final String CLIENT_VERSION = clientVersion();

    private final String group;
    private final String clientId;
    private final EventPoster poster;
    private final String process = UUID.randomUUID().toString();
    private String memberId = "";
    private String instanceId;
    private int generation = Member.NO_GENERATION;
    private long sequence;

    EventWriter(String group, String clientId, EventPoster poster) {
        this.group = group;
        this.clientId = clientId;
        this.poster = poster;
    }

    /** The member's ids and generation, for later events. */
    void identify(ConsumerGroupMetadata metadata) {
        memberId = metadata.memberId();
        instanceId = metadata.groupInstanceId().orElse(null);
        generation = metadata.generationId();
    }

    /** Whether the member was in a generation. */
    boolean joined() {
        return generation != Member.NO_GENERATION;
    }

    /** A callback ran from {@code startedMs} to {@code endedMs}, epoch milliseconds. */
    void callback(Callback callback, long startedMs, long endedMs, Collection<TopicPartition> partitions) {
        Json event = event("member", endedMs)
                .put("callback", callback.text())
                .put("member_id", memberId)
                .put("generation", generation)
                .put("started_ms", startedMs)
                .put("partitions", Json.partitions(partitions))
                .put("software", software());
        if (instanceId != null) {
            event.put("instance_id", instanceId);
        }
        poster.put(event.toString(), process);
    }

    /** The leader's {@code assign()} ran for {@code generation}, -1 if that did not become a generation. */
    void assign(Decision decision, int generation) {
        Json event = event("assign", decision.endedMs)
                .put("assignor", decision.assignor)
                .put("generation", generation)
                .put("duration_seconds", decision.seconds)
                .put("members", decision.members)
                .put("partitions", decision.partitions);
        if (decision.error != null) {
            String text = decision.error.toString();
            event.put("error", text.substring(0, Math.min(text.length(), ERROR_TEXT_MAX)));
        }
        poster.put(event.toString(), process);
    }

    /** Let the last events be sent. */
    void finish() {
        poster.finish();
    }

    /** Name and version of the client library, as the client sends them to brokers (KIP-511). */
    private static Json software() {
        return new Json().put("name", "apache-kafka-java").put("version", CLIENT_VERSION);
    }

    /** The version in the client's jar, empty if it has none; Kafka's class that reads it moved in 4.4. */
    private static String clientVersion() {
        Properties read = new Properties();
        try (InputStream file = ConsumerGroupMetadata.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            if (file != null) {
                read.load(file);
            }
        } catch (IOException | IllegalArgumentException unreadable) {
            return "";
        }
        return read.getProperty("version", "").trim();
    }

    private Json event(String kind, long timestampMs) {
        return new Json()
                .put("kind", kind)
                .put("schema_version", 1)
                .put("group", group)
                .put("client_id", clientId)
                .put("timestamp_ms", timestampMs)
                .put("process", process)
                .put("sequence", ++sequence);
    }
}
