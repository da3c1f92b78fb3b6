// A Spring program whose Kafka listeners report their rebalances to `rebalance-agent sidecar`.
//
//   javac -cp 'libs/*' ../ReportingConsumer.java ReportingSpringConsumer.java     # libs: spring-kafka and its dependencies
//   java -cp 'libs/*:.' ReportingSpringConsumer BOOTSTRAP_SERVERS TOPIC GROUP CLIENT_ID
//
// The bean RebalanceReports is all that your own program needs, with the class Reporting of ReportingConsumer.java.
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Map;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.*;
import org.springframework.kafka.annotation.*;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.*;

class RebalanceReports implements BeanPostProcessor { // of every consumer that a DefaultKafkaConsumerFactory makes
    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        if (bean instanceof DefaultKafkaConsumerFactory) addTo((DefaultKafkaConsumerFactory<?, ?>) bean);
        return bean;
    }

    private static <K, V> void addTo(DefaultKafkaConsumerFactory<K, V> factory) {
        factory.addPostProcessor(RebalanceReports::reporting);
    }

    @SuppressWarnings("unchecked")
    private static <K, V> Consumer<K, V> reporting(Consumer<K, V> consumer) {
        String clientId = consumer.metrics().keySet().iterator().next().tags().get("client-id"); // Spring adds a number to yours
        Reporting[] current = {null};
        return (Consumer<K, V>) Proxy.newProxyInstance(Consumer.class.getClassLoader(), new Class<?>[] {Consumer.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("subscribe") && arguments.length == 2 && arguments[1] instanceof ConsumerRebalanceListener) {
                if (current[0] == null) current[0] = new Reporting(consumer, clientId, (ConsumerRebalanceListener) arguments[1]);
                arguments[1] = current[0];
            }
            try {
                return method.invoke(consumer, arguments);
            } catch (InvocationTargetException error) {
                throw error.getCause();
            } finally {
                if (method.getName().equals("close") && current[0] != null) current[0].close();
            }
        });
    }
}

@Configuration
@EnableKafka
public class ReportingSpringConsumer {
    private static String bootstrapServers, clientId;

    public static void main(String[] arguments) throws Exception {
        bootstrapServers = arguments[0]; System.setProperty("topic", arguments[1]); System.setProperty("group", arguments[2]); clientId = arguments[3];
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(ReportingSpringConsumer.class)) {
            System.in.read(); // until Enter
        }
    }

    @Bean
    static RebalanceReports rebalanceReports() { return new RebalanceReports(); }

    @Bean
    ConcurrentKafkaListenerContainerFactory<byte[], byte[]> kafkaListenerContainerFactory(ConsumerFactory<byte[], byte[]> consumers) {
        ConcurrentKafkaListenerContainerFactory<byte[], byte[]> containers = new ConcurrentKafkaListenerContainerFactory<>();
        containers.setConsumerFactory(consumers);
        return containers;
    }

    @Bean
    ConsumerFactory<byte[], byte[]> consumers() {
        return new DefaultKafkaConsumerFactory<>(Map.of("bootstrap.servers", bootstrapServers, "client.id", clientId, "heartbeat.interval.ms", 500,
                "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class));
    }

    @KafkaListener(topics = "${topic}", groupId = "${group}")
    void listen(ConsumerRecord<byte[], byte[]> record) { System.out.println(record.partition() + " " + record.offset()); }
}
