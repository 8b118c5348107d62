package conformance;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientConfigurationBuilder;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.StaticSessionCredentialsProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

/** What the Java client does with some keys: ADDRESS KEY SECRET TOPIC GROUP. */
public final class GrpcKeys {
    public static void main(String[] words) {
        ClientServiceProvider provider = ClientServiceProvider.loadService();
        ClientConfigurationBuilder builder = ClientConfiguration.newBuilder().setEndpoints(words[0]).enableSsl(false);
        if (!words[1].isEmpty()) {
            builder.setCredentialProvider(new StaticSessionCredentialsProvider(words[1], words[2]));
        }
        ClientConfiguration configuration = builder.build();
        String topic = words[3];
        Producer producer = tell("a producer", () ->
            provider.newProducerBuilder().setClientConfiguration(configuration).setTopics(topic).build());
        if (producer != null) {
            byte[] body = "hello".getBytes(StandardCharsets.UTF_8);
            tell("a send", () -> producer.send(provider.newMessageBuilder().setTopic(topic).setBody(body).build()));
        }
        SimpleConsumer consumer = tell("a consumer", () -> provider.newSimpleConsumerBuilder().setClientConfiguration(configuration)
            .setConsumerGroup(words[4]).setAwaitDuration(Duration.ofSeconds(5))
            .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL)).build());
        if (consumer != null) {
            List<MessageView> received = tell("a receive", () -> {
                List<MessageView> found = List.of();
                while (found.isEmpty()) {
                    found = consumer.receive(16, Duration.ofSeconds(10));
                }
                return found;
            });
            if (received != null) {
                tell("an acknowledgement", () -> {
                    consumer.ack(received.get(0));
                    return true;
                });
            }
        }
        System.exit(0);
    }

    /** Says whether something was done, or how it was refused; returns null then. */
    private static <T> T tell(String what, Callable<T> act) {
        try {
            T done = act.call();
            System.out.println(what + ": done");
            return done;
        } catch (Exception error) {
            System.out.println(what + ": " + error.getClass().getSimpleName() + " " + error.getMessage());
            return null;
        }
    }
}
