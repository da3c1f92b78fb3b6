package rebalanceagent.client;

import java.util.Locale;

/** The callbacks of an event, as in the sidecar's schema. */
enum Callback {
    REVOKED,
    ASSIGNED,
    LOST,
    /** The consumer was closed on purpose. */
    LEFT;

    /** The name in an event. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }
}
