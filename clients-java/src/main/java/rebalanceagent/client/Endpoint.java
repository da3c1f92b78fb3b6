package rebalanceagent.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The sidecar's address. Each post has a connection of its own, without the proxies that the JVM may have. */
final class Endpoint {
    static final String URL_CONFIG = "rebalance.agent.events.url";
    static final String TOKEN_CONFIG = "rebalance.agent.events.token";
    static final String URL_VARIABLE = "REBALANCE_AGENT_EVENTS_URL";
    static final String TOKEN_VARIABLE = "REBALANCE_AGENT_EVENTS_TOKEN";
    static final String DEFAULT_URL = "http://127.0.0.1:29309/v1/events";

    /** For the connection and each read, in milliseconds. A healthy sidecar answers in a few. */
    private static final int TIMEOUT_MS = 2000;

    private static final int REASON_BYTES_MAX = 300;

    private final URL url;
    private final String token;

    private Endpoint(URL url, String token) {
        this.url = url;
        this.token = token;
    }

    /** The endpoint of the configuration, else of the environment, else the default; null: nothing is sent. */
    static Endpoint of(Map<String, ?> configs) {
        String url = value(configs, URL_CONFIG, URL_VARIABLE, DEFAULT_URL);
        try {
            if (url.isEmpty()) {
                return null;
            }
            URL parsed = URI.create(url).toURL();
            if (parsed.getProtocol().startsWith("http") && !parsed.getHost().isEmpty()) {
                return new Endpoint(parsed, value(configs, TOKEN_CONFIG, TOKEN_VARIABLE, ""));
            }
        } catch (IllegalArgumentException | IOException error) {
            // Logged below.
        }
        Quietly.LOG.log(System.Logger.Level.ERROR, "{0} is no URL such as {1}; no events are sent", url, DEFAULT_URL);
        return null;
    }

    /**
     * Send one body. {@code alive}: the id of the process, if it sends heartbeats; otherwise empty.
     *
     * @return the status, with the start of the sidecar's text if it does not accept the body
     * @throws IOException there was no valid answer in time
     */
    Answer post(byte[] body, long dropped, String alive) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) url.openConnection(Proxy.NO_PROXY);
        try {
            connection.setConnectTimeout(TIMEOUT_MS);
            connection.setReadTimeout(TIMEOUT_MS);
            connection.setInstanceFollowRedirects(false);
            connection.setRequestMethod("POST");
            connection.setDoOutput(true);
            connection.setFixedLengthStreamingMode(body.length);
            connection.setRequestProperty("Content-Type", "application/x-ndjson");
            connection.setRequestProperty("Connection", "close");
            if (!alive.isEmpty()) {
                connection.setRequestProperty("X-Rebalance-Agent-Alive", alive);
            }
            if (dropped > 0) {
                connection.setRequestProperty("X-Rebalance-Agent-Dropped", Long.toString(dropped));
            }
            if (!token.isEmpty()) {
                connection.setRequestProperty("Authorization", "Bearer " + token);
            }
            try (OutputStream out = connection.getOutputStream()) {
                out.write(body);
            }
            int status = connection.getResponseCode();
            return new Answer(status, status < 400 ? "" : text(connection.getErrorStream()));
        } finally {
            connection.disconnect();
        }
    }

    private static String text(InputStream stream) throws IOException {
        if (stream == null) {
            return "";
        }
        try (stream) {
            return new String(stream.readNBytes(REASON_BYTES_MAX), StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}", " ");
        }
    }

    private static String value(Map<String, ?> configs, String name, String variable, String otherwise) {
        Object value = configs.get(name);
        String set = System.getenv(variable);
        return value != null ? value.toString() : set != null ? set : otherwise;
    }

    /** A status and the reason for it. */
    static final class Answer {
        final int status;
        final String reason;

        Answer(int status, String reason) {
            this.status = status;
            this.reason = reason;
        }

        boolean accepted() {
            return status >= 200 && status < 300;
        }

        /** Whether the same body may be accepted later. */
        boolean again() {
            return status == 429 || status >= 500;
        }
    }
}
