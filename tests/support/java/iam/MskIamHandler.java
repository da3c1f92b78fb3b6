import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/** Accepts tokens as Amazon MSK does: a signed URL, whose signature is made again from the secret of its access key. */
public final class MskIamHandler implements AuthenticateCallbackHandler {
    private static final DateTimeFormatter TIME =
        DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
    private Map<String, ?> options = Map.of();

    @Override
    public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
        options = entries.get(0).getOptions();
    }

    @Override
    public void handle(Callback[] callbacks) {
        for (Callback each : callbacks) {
            if (each instanceof OAuthBearerValidatorCallback) {
                OAuthBearerValidatorCallback asked = (OAuthBearerValidatorCallback) each;
                try {
                    asked.token(checked(asked.tokenValue()));
                } catch (GeneralSecurityException | RuntimeException error) {
                    asked.error("invalid_token", error.toString(), null);
                }
            }
        }
    }

    private OAuthBearerToken checked(String token) throws GeneralSecurityException {
        URI url = URI.create(new String(Base64.getUrlDecoder().decode(token), StandardCharsets.UTF_8));
        TreeMap<String, String> query = new TreeMap<>();
        for (String pair : url.getRawQuery().split("&")) {
            query.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        }
        query.remove("User-Agent"); // added after the signature
        String signature = query.remove("X-Amz-Signature");
        String[] scope = decoded(query, "X-Amz-Credential").split("/");
        require(scope.length == 5 && scope[3].equals("kafka-cluster"), "service " + query);
        require(url.getHost().equals("kafka." + scope[2] + ".amazonaws.com"), "host " + url.getHost());
        require(decoded(query, "Action").equals("kafka-cluster:Connect"), "action");
        long begun = Instant.from(TIME.parse(query.get("X-Amz-Date"))).toEpochMilli();
        long end = begun + Long.parseLong(query.get("X-Amz-Expires")) * 1000;
        require(System.currentTimeMillis() < end, "expired");
        require(signature.equals(signature(url, query, scope)), "signature");
        return new Accepted(token, scope[0], begun, end);
    }

    private String signature(URI url, TreeMap<String, String> query, String[] scope) throws GeneralSecurityException {
        String pairs = query.entrySet().stream().map(Object::toString).collect(Collectors.joining("&"));
        String request = String.join("\n", "GET", "/", pairs, "host:" + url.getHost(), "", "host", sha256(""));
        String within = String.join("/", scope[1], scope[2], scope[3], scope[4]);
        String text = String.join("\n", "AWS4-HMAC-SHA256", query.get("X-Amz-Date"), within, sha256(request));
        byte[] key = ("AWS4" + options.get("secret_" + scope[0])).getBytes(StandardCharsets.UTF_8);
        for (String part : List.of(scope[1], scope[2], scope[3], scope[4], text)) {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            key = mac.doFinal(part.getBytes(StandardCharsets.UTF_8));
        }
        return hex(key);
    }

    private static String sha256(String text) throws GeneralSecurityException {
        return hex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte each : bytes) {
            text.append(String.format("%02x", each));
        }
        return text.toString();
    }

    private static String decoded(Map<String, String> query, String name) {
        return URLDecoder.decode(query.get(name), StandardCharsets.UTF_8);
    }

    private static void require(boolean holds, String what) {
        if (!holds) {
            throw new IllegalArgumentException(what);
        }
    }

    @Override
    public void close() {
        // Nothing is open.
    }

    private static final class Accepted implements OAuthBearerToken {
        private final String value;
        private final String principal;
        private final long start;
        private final long end;

        Accepted(String value, String principal, long start, long end) {
            this.value = value;
            this.principal = principal;
            this.start = start;
            this.end = end;
        }

        @Override
        public String value() {
            return value;
        }

        @Override
        public Set<String> scope() {
            return Set.of();
        }

        @Override
        public long lifetimeMs() {
            return end;
        }

        @Override
        public String principalName() {
            return principal;
        }

        @Override
        public Long startTimeMs() {
            return start;
        }
    }
}
