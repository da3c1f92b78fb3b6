package rebalanceagent.client;

import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.TopicPartition;

/** Writes one JSON object, in ASCII. */
final class Json {
    private final StringBuilder text = new StringBuilder("{");

    /** A text. */
    Json put(String name, String value) {
        return add(name, quoted(value));
    }

    /** A whole number. */
    Json put(String name, long value) {
        return add(name, Long.toString(value));
    }

    /** A finite number. */
    Json put(String name, double value) {
        return add(name, Double.toString(value));
    }

    /** An object. */
    Json put(String name, Json value) {
        return add(name, value.toString());
    }

    /** Topic to ascending numbers and ranges, such as {@code {"orders": "0-2,7"}}. */
    static Json partitions(Collection<TopicPartition> partitions) {
        Map<String, TreeSet<Integer>> byTopic = new TreeMap<>();
        for (TopicPartition each : partitions) {
            byTopic.computeIfAbsent(each.topic(), topic -> new TreeSet<>()).add(each.partition());
        }
        Json object = new Json();
        byTopic.forEach((topic, numbers) -> object.put(topic, ranges(numbers)));
        return object;
    }

    @Override
    public String toString() {
        return text + "}";
    }

    private static String ranges(TreeSet<Integer> numbers) {
        StringBuilder ranges = new StringBuilder();
        for (Integer first = numbers.first(); first != null; ) {
            int last = first;
            while (numbers.contains(last + 1)) {
                last++;
            }
            ranges.append(ranges.length() == 0 ? "" : ",").append(first);
            if (last > first) {
                ranges.append('-').append(last);
            }
            first = numbers.higher(last);
        }
        return ranges.toString();
    }

    private Json add(String name, String value) {
        text.append(text.length() == 1 ? "" : ",").append(quoted(name)).append(':').append(value);
        return this;
    }

    private static String quoted(String value) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char each : value.toCharArray()) {
            if (each == '"' || each == '\\') {
                quoted.append('\\').append(each);
            } else if (each < ' ' || each > '~') {
                quoted.append(String.format("\\u%04x", (int) each));
            } else {
                quoted.append(each);
            }
        }
        return quoted.append('"').toString();
    }
}
