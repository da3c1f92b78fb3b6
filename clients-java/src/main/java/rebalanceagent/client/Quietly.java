package rebalanceagent.client;

/** Runs our own code so that no failure of it reaches the consumer. */
final class Quietly {
    static final System.Logger LOG = System.getLogger("rebalanceagent.client");

    private Quietly() {}

    /** Run {@code action}; {@code what} it does, for the log. Errors of the virtual machine pass through. */
    static void run(String what, Runnable action) {
        try {
            action.run();
        } catch (RuntimeException | LinkageError error) {
            LOG.log(System.Logger.Level.WARNING, "cannot " + what + "; the consumer is not affected", error);
        }
    }
}
