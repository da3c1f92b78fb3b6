package rebalanceagent.client;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.config.ConfigException;

/**
 * Wraps the assignor that {@value #ASSIGNOR_CONFIG} names (a class, {@code RangeAssignor} by default), and reports the
 * member's rebalances to the sidecar.
 *
 * <p>Name, protocols, version and user data are the wrapped assignor's, so wrapped and bare members form one group. Its
 * exceptions pass through; failures of the reports do not reach the consumer. Kafka accepts a class only once in
 * {@code partition.assignment.strategy}: the subclasses, such as {@link InstrumentedRangeAssignor}, wrap a fixed
 * assignor, for consumers with several.
 */
public class InstrumentedAssignor implements ConsumerPartitionAssignor, Configurable {
    /** The setting that names the wrapped assignor's class. */
    public static final String ASSIGNOR_CONFIG = "rebalance.agent.assignor";

    private final Class<? extends ConsumerPartitionAssignor> fixed;
    private ConsumerPartitionAssignor inner;
    private Member member;

    /** Wrap the assignor that the consumer's configuration names. */
    public InstrumentedAssignor() {
        this(null);
    }

    /** Wrap {@code fixed}, whatever the configuration names. */
    protected InstrumentedAssignor(Class<? extends ConsumerPartitionAssignor> fixed) {
        this.fixed = fixed;
    }

    /**
     * Create the wrapped assignor, which gets the same configuration.
     *
     * @throws ConfigException {@value #ASSIGNOR_CONFIG} does not name an assignor
     */
    @Override
    public void configure(Map<String, ?> configs) {
        Object named = fixed != null ? fixed : configs.get(ASSIGNOR_CONFIG);
        inner = Assignors.create(named == null ? RangeAssignor.class : named);
        if (inner instanceof InstrumentedAssignor) {
            throw new ConfigException(ASSIGNOR_CONFIG, named, "an instrumented assignor cannot wrap another");
        }
        if (inner instanceof Configurable) {
            ((Configurable) inner).configure(configs);
        }
        Quietly.run("watch a consumer", () -> member = Members.join(configs, this));
    }

    @Override
    public String name() {
        return inner.name();
    }

    @Override
    public short version() {
        return inner.version();
    }

    @Override
    public List<RebalanceProtocol> supportedProtocols() {
        return inner.supportedProtocols();
    }

    /** Return the wrapped assignor's user data. The client calls this at each JoinGroup, after it has revoked. */
    @Override
    public ByteBuffer subscriptionUserData(Set<String> topics) {
        report("report what was given up", watched -> watched.joining(topics));
        return inner.subscriptionUserData(topics);
    }

    /** Assign by the wrapped assignor, and time it. */
    @Override
    public GroupAssignment assign(Cluster metadata, GroupSubscription groupSubscription) {
        int members = groupSubscription.groupSubscription().size();
        long start = System.nanoTime();
        try {
            GroupAssignment given = inner.assign(metadata, groupSubscription);
            long nanos = System.nanoTime() - start;
            report("report an assignment", watched -> watched.decided(name(), members, partitions(given), nanos, null));
            return given;
        } catch (RuntimeException | Error error) {
            long nanos = System.nanoTime() - start;
            report("report an assignment", watched -> watched.decided(name(), members, 0, nanos, error));
            throw error;
        }
    }

    /** Pass the assignment on. The client calls this in every generation, before the assigned callback. */
    @Override
    public void onAssignment(Assignment assignment, ConsumerGroupMetadata metadata) {
        report("report what was assigned", watched -> watched.assigned(assignment.partitions(), metadata));
        inner.onAssignment(assignment, metadata);
    }

    private void report(String what, java.util.function.Consumer<Member> action) {
        Quietly.run(what, () -> {
            if (member != null) {
                action.accept(member);
            }
        });
    }

    private static int partitions(GroupAssignment given) {
        return given.groupAssignment().values().stream().mapToInt(each -> each.partitions().size()).sum();
    }
}
