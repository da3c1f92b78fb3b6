package rebalanceagent.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Queues one consumer's events and posts them on a daemon thread, in order. When the queue is full, or a post fails for
 * good, events are dropped and counted; the next post contains their number.
 */
final class EventPoster {
    /** Longest queue, in events: more than 300 rebalances. */
    static final int WAITING_MAX = 1000;

    /** Largest queue, in characters: what a consumer spends while its sidecar is away. */
    static final int WAITING_CHARACTERS_MAX = 4 << 20;

    /** Longest event, in characters; the sidecar refuses longer lines. */
    static final int LINE_CHARACTERS_MAX = 256 << 10;

    /** Retries of one post: with the pauses below longer than a sidecar's restart. */
    private static final int RETRIES_MAX = 10;

    private static final long FIRST_PAUSE_MS = 250;
    private static final long PAUSE_MS_MAX = 30_000;

    /** By these posts the sidecar distinguishes an idle consumer from a dead one. */
    private static final long ALIVE_MS = 120_000;

    /** Longest time that closing the consumer waits for the last post. */
    private static final long FINISH_MS = 500;

    private final Endpoint endpoint;
    private final boolean beats;
    private final Deque<String> waiting = new ArrayDeque<>();
    private String process = "";
    private long characters;
    private long dropped;
    private Thread thread;
    private boolean closing;

    /** Post to {@code endpoint}; null posts nothing. {@code beats}: {@link #finish} will be called. */
    EventPoster(Endpoint endpoint, boolean beats) {
        this.endpoint = endpoint;
        this.beats = beats;
    }

    /** Queue one line of the {@code process}. */
    synchronized void put(String line, String process) {
        if (endpoint == null) {
            return;
        }
        this.process = process;
        if (line.length() > LINE_CHARACTERS_MAX) {
            dropped++;
            return;
        }
        waiting.add(line);
        characters += line.length();
        while (waiting.size() > WAITING_MAX || characters > WAITING_CHARACTERS_MAX) {
            characters -= waiting.remove().length();
            dropped++;
        }
        if (thread == null) {
            thread = new Thread(this::run, "rebalance-agent-client");
            thread.setDaemon(true);
            thread.start();
        }
        notifyAll();
    }

    /** Send what is queued, once, and end. */
    synchronized void finish() {
        closing = true;
        notifyAll();
        long until = System.nanoTime() + FINISH_MS * 1_000_000;
        try {
            for (long left = FINISH_MS; thread != null && left > 0; left = (until - System.nanoTime()) / 1_000_000) {
                wait(left);
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try {
            for (String line = next(); line != null; line = next()) {
                deliver(line);
            }
        } catch (InterruptedException error) {
            // Ended from outside.
        } finally {
            synchronized (this) {
                thread = null;
                notifyAll();
            }
        }
    }

    /** The next body, after a wait; empty: the process is alive; null: the end. */
    private synchronized String next() throws InterruptedException {
        if (waiting.isEmpty() && !closing && beats) {
            wait(ALIVE_MS);
        }
        String line = waiting.poll();
        if (line == null) {
            if (!closing && beats) {
                return "";
            }
            thread = null; // under this lock, so that a later event starts a new one
            return null;
        }
        characters -= line.length();
        return line + "\n";
    }

    private void deliver(String body) throws InterruptedException {
        long pause = FIRST_PAUSE_MS;
        for (int tries = 0; !posted(body); tries++, pause = Math.min(2 * pause, PAUSE_MS_MAX)) {
            synchronized (this) {
                if (!closing && tries < RETRIES_MAX) {
                    long until = System.nanoTime() + pause * 1_000_000;
                    for (long left = pause; !closing && left > 0; left = (until - System.nanoTime()) / 1_000_000) {
                        wait(left);
                    }
                    continue;
                }
                dropped += body.isEmpty() ? 0 : 1;
                if (closing) {
                    dropped += waiting.size();
                    waiting.clear();
                }
                return;
            }
        }
    }

    /** Whether the post needs no repetition. */
    private boolean posted(String body) {
        long reported;
        synchronized (this) {
            reported = dropped;
        }
        try {
            // A process without heartbeats must not announce them.
            String alive = beats ? process : "";
            Endpoint.Answer answer = endpoint.post(body.getBytes(StandardCharsets.UTF_8), reported, alive);
            if (!answer.accepted()) {
                Quietly.LOG.log(System.Logger.Level.WARNING, "sidecar: {0} {1}", answer.status, answer.reason);
            }
            synchronized (this) {
                dropped += answer.accepted() ? -reported : answer.again() || body.isEmpty() ? 0 : 1;
            }
            return !answer.again();
        } catch (IOException | RuntimeException error) {
            Quietly.LOG.log(System.Logger.Level.DEBUG, "no sidecar", error);
            return false;
        }
    }
}
