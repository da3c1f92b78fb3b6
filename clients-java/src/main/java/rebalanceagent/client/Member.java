package rebalanceagent.client;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * One consumer in its group: makes events of what its assignors and its metrics report. Thread-safe; it does not block.
 *
 * <p>The order of a rebalance in Kafka's consumer: eager members revoke, join, get the assignment, and run the assigned
 * callback; cooperative members join, revoke what the assignment lacks, and so on. A callback's length is recorded in a
 * metric when it has returned; without a rebalance listener nothing is recorded, and the callback took no time.
 */
final class Member {
    static final int NO_GENERATION = -1;

    private final EventWriter events;
    private final boolean measured;
    private final String groupAndClient;
    private final LongSupplier nowMs;
    private final Set<String> assignors = new HashSet<>();

    private boolean cooperative = true;
    private Set<TopicPartition> owned = Set.of();
    private Ran stopped;
    private Decision decision;
    private Set<TopicPartition> added;
    private long addedMs;
    private volatile boolean waiting;

    /** {@code measured}: whether the metrics report callbacks, polls and the end. */
    Member(String group, String clientId, boolean measured, EventPoster poster, LongSupplier nowMs) {
        this.groupAndClient = group + "\0" + clientId;
        this.measured = measured;
        this.nowMs = nowMs;
        this.events = new EventWriter(group, clientId, poster);
    }

    /** Whether {@code assignor} is of this consumer: the ids are equal, and the consumer has no other of its class. */
    synchronized boolean belongs(String group, String clientId, InstrumentedAssignor assignor) {
        return groupAndClient.equals(group + "\0" + clientId) && assignors.add(assignor.getClass().getName());
    }

    /** Whether the consumer rebalances cooperatively, by one of its assignors. */
    synchronized void rebalances(boolean cooperatively) {
        cooperative &= cooperatively;
    }

    /** The consumer joins with {@code topics}: what an eager member owned is given up now. */
    synchronized void joining(Set<String> topics) {
        settleAssigned();
        settleDecision(NO_GENERATION);
        boolean all = !cooperative || (stopped != null && stopped.callback == Callback.LOST);
        giveUp(all ? owned : subset(owned, each -> !topics.contains(each.topic())));
    }

    /** The leader's {@code assign()} has ended. */
    synchronized void decided(String assignor, int members, int partitions, long nanos, Throwable error) {
        decision = new Decision(assignor, members, partitions, nanos / 1e9, error, nowMs.getAsLong());
        if (error != null) {
            settleDecision(NO_GENERATION);
        }
    }

    /** The member got {@code partitions}; the assigned callback, if there is one, follows. */
    synchronized void assigned(Collection<TopicPartition> partitions, ConsumerGroupMetadata metadata) {
        settleAssigned();
        events.identify(metadata);
        settleDecision(metadata.generationId());
        Set<TopicPartition> given = new HashSet<>(partitions);
        giveUp(subset(owned, each -> !given.contains(each)));
        Set<TopicPartition> before = owned;
        added = subset(given, each -> !before.contains(each));
        addedMs = nowMs.getAsLong();
        owned = given;
        waiting = true;
        if (!measured) {
            settleAssigned();
        }
    }

    /** A callback of the consumer's listener has returned at {@code endedMs}, after {@code tookMs}. */
    synchronized void ran(Callback callback, long endedMs, long tookMs) {
        if (callback != Callback.ASSIGNED) {
            stopped = new Ran(callback, endedMs - tookMs, endedMs);
        } else if (waiting) {
            reportAssigned(endedMs - tookMs, endedMs);
        }
    }

    /** The application polls: if no assigned callback has run since the assignment, there is no listener. */
    void polled() {
        if (waiting) {
            settleAssigned();
        }
    }

    /** The consumer was closed. */
    synchronized void closed() {
        settleAssigned();
        giveUp(owned);
        if (events.joined()) {
            long now = nowMs.getAsLong();
            events.callback(Callback.LEFT, now, now, Set.of());
        }
        events.finish();
    }

    private synchronized void settleAssigned() {
        if (waiting) {
            reportAssigned(addedMs, addedMs);
        }
    }

    /** As in the other clients of the agent, a cooperative member without new partitions reports nothing. */
    private void reportAssigned(long startedMs, long endedMs) {
        waiting = false;
        if (!cooperative || !added.isEmpty()) {
            events.callback(Callback.ASSIGNED, startedMs, endedMs, added);
        }
    }

    private void giveUp(Set<TopicPartition> partitions) {
        long now = nowMs.getAsLong();
        Ran how = stopped == null ? new Ran(Callback.REVOKED, now, now) : stopped;
        stopped = null;
        if (!partitions.isEmpty()) {
            events.callback(how.callback, how.startedMs, how.endedMs, partitions);
            owned = subset(owned, each -> !partitions.contains(each));
        }
    }

    private void settleDecision(int generation) {
        if (decision != null) {
            events.assign(decision, generation);
            decision = null;
        }
    }

    private static Set<TopicPartition> subset(Set<TopicPartition> of, java.util.function.Predicate<TopicPartition> which) {
        return of.stream().filter(which).collect(Collectors.toSet());
    }

    /** A callback that has run. */
    private static final class Ran {
        final Callback callback;
        final long startedMs;
        final long endedMs;

        Ran(Callback callback, long startedMs, long endedMs) {
            this.callback = callback;
            this.startedMs = startedMs;
            this.endedMs = endedMs;
        }
    }
}
