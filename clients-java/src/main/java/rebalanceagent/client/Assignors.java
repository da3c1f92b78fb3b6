package rebalanceagent.client;

import java.util.Arrays;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.RebalanceProtocol;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.Utils;

/** Assignors by their class or its name. */
final class Assignors {
    private Assignors() {}

    /**
     * Create an assignor.
     *
     * @throws ConfigException {@code named} is no assignor
     */
    static ConsumerPartitionAssignor create(Object named) {
        try {
            Class<?> kind = named instanceof Class ? (Class<?>) named : Utils.loadClass(named.toString().trim(), Object.class);
            return (ConsumerPartitionAssignor) kind.getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException | ClassCastException | LinkageError error) {
            throw new ConfigException(InstrumentedAssignor.ASSIGNOR_CONFIG, named, "is no assignor: " + error);
        }
    }

    /**
     * Whether the consumer rebalances cooperatively: every assignor in its list supports that. {@code wrapped}: one of
     * ours in the list.
     */
    static boolean cooperative(Object strategies, InstrumentedAssignor wrapped) {
        for (Object each : listed(strategies)) {
            Class<?> kind = each instanceof Class ? (Class<?>) each : null;
            String name = kind == null ? each.toString().trim() : kind.getName();
            boolean ours = name.equals(wrapped.getClass().getName());
            if (!(ours ? wrapped : create(each instanceof Class ? each : name)).supportedProtocols()
                    .contains(RebalanceProtocol.COOPERATIVE)) {
                return false;
            }
        }
        return true;
    }

    private static List<?> listed(Object strategies) {
        if (strategies instanceof List) {
            return (List<?>) strategies;
        }
        if (strategies instanceof Class) {
            return List.of(strategies);
        }
        if (strategies == null) {
            throw new ConfigException(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG + " is missing");
        }
        return Arrays.asList(strategies.toString().split(","));
    }
}
