package conformance;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

public final class GrpcRecipe {
    public static void main(String[] words) throws Exception {
        ClientServiceProvider provider = ClientServiceProvider.loadService();
        ClientConfiguration configuration = ClientConfiguration.newBuilder().setEndpoints(words[0])
            .enableSsl(words[1].equals("tls")) // true by default; it takes any certificate
            .build();
        try (Producer producer = provider.newProducerBuilder().setClientConfiguration(configuration).setTopics("greetings").build();
            SimpleConsumer consumer = provider.newSimpleConsumerBuilder().setClientConfiguration(configuration)
                .setConsumerGroup("readers").setAwaitDuration(Duration.ofSeconds(5))
                .setSubscriptionExpressions(Map.of("greetings", FilterExpression.SUB_ALL)).build()) {
            producer.send(provider.newMessageBuilder().setTopic("greetings").setBody("hello".getBytes(StandardCharsets.UTF_8)).build());
            List<MessageView> received = List.of();
            while (received.isEmpty()) {
                received = consumer.receive(16, Duration.ofSeconds(10));
            }
            for (MessageView message : received) {
                System.out.println("received " + StandardCharsets.UTF_8.decode(message.getBody()));
                consumer.ack(message);
            }
        }
    }
}
