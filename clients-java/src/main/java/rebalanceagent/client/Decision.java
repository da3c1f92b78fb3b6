package rebalanceagent.client;

/** One {@code assign()} call of the leader. {@code error}: its exception, or null. */
final class Decision {
    final String assignor;
    final int members;
    final int partitions;
    final double seconds;
    final Throwable error;
    final long endedMs;

    Decision(String assignor, int members, int partitions, double seconds, Throwable error, long endedMs) {
        this.assignor = assignor;
        this.members = members;
        this.partitions = partitions;
        this.seconds = seconds;
        this.error = error;
        this.endedMs = endedMs;
    }
}
