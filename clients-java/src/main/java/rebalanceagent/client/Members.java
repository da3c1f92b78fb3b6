package rebalanceagent.client;

import java.lang.ref.WeakReference;
import java.util.Map;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.consumer.ConsumerConfig;

/**
 * Finds the {@link Member} that the reporter and the assignors of one consumer share.
 *
 * <p>A consumer's constructor makes its metric reporters and then its assignors, on one thread.
 */
final class Members {
    private static final ThreadLocal<WeakReference<Member>> LAST = new ThreadLocal<>();

    private Members() {}

    /** The member of a consumer that is being constructed; null for a client without a group. */
    static Member begin(Map<String, ?> configs) {
        LAST.remove();
        if (configs.get(ConsumerConfig.GROUP_ID_CONFIG) == null) {
            return null;
        }
        Member member = member(configs, true);
        LAST.set(new WeakReference<>(member));
        return member;
    }

    /** The member of the consumer whose assignor this is. */
    static Member join(Map<String, ?> configs, InstrumentedAssignor assignor) {
        WeakReference<Member> last = LAST.get();
        Member member = last == null ? null : last.get();
        if (member == null || !member.belongs(text(configs, ConsumerConfig.GROUP_ID_CONFIG), clientId(configs), assignor)) {
            Quietly.LOG.log(System.Logger.Level.WARNING, "metric.reporters lacks {0}: lengths of callbacks are unknown, "
                    + "and the consumer''s end is not reported", RebalanceReporter.class.getName());
            member = member(configs, false);
            LAST.set(new WeakReference<>(member));
            member.belongs(text(configs, ConsumerConfig.GROUP_ID_CONFIG), clientId(configs), assignor);
        }
        member.rebalances(Assignors.cooperative(configs.get(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG), assignor));
        return member;
    }

    private static Member member(Map<String, ?> configs, boolean measured) {
        EventPoster poster = new EventPoster(Endpoint.of(configs), measured);
        return new Member(text(configs, ConsumerConfig.GROUP_ID_CONFIG), clientId(configs), measured, poster,
                System::currentTimeMillis);
    }

    private static String clientId(Map<String, ?> configs) {
        return text(configs, CommonClientConfigs.CLIENT_ID_CONFIG);
    }

    private static String text(Map<String, ?> configs, String name) {
        Object value = configs.get(name);
        return value == null ? "" : value.toString();
    }
}
