package conformance;

import static conformance.Lab.message;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Clients of a fake that steer it over its control port, with nothing but the JDK. They are given no name server address: where
 * {@code rocketmq.namesrv.domain} says, there is an address server, and the control port is both.
 */
final class Steering {
    private static final String CONTROL = "http://" + System.getProperty("rocketmq.namesrv.domain");
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final int TWO_HOURS_LEVEL = 18;

    private Steering() {
    }

    static void steered(Lab lab) throws Exception {
        String topic = lab.topic("Steered");
        ask("PUT", "/v1/topics/" + topic, "{\"queues\": 1}");
        List<MessageExt> heard = new CopyOnWriteArrayList<>();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(lab.group("Steered"));
        lost(lab, consumer, "hearer");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            heard.addAll(messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        lab.atEnd(consumer::shutdown);
        DefaultMQProducer producer = new DefaultMQProducer(lab.group("Steering"));
        lost(lab, producer, "teller");
        producer.start();
        lab.atEnd(producer::shutdown);
        time(lab, topic, producer, heard);
        fault(lab, topic);
        broker(lab, topic, producer);
    }

    /** Two hours pass in a moment. */
    private static void time(Lab lab, String topic, DefaultMQProducer producer, List<MessageExt> heard) throws Exception {
        ask("POST", "/v1/clock/freeze", "");
        Message late = message(topic, "t", "in two hours");
        late.setDelayTimeLevel(TWO_HOURS_LEVEL);
        lab.say("sent", producer.send(late).getSendStatus());
        String waiting = ask("GET", "/v1/delayed?topic=" + topic, "");
        lab.say("waits", field("text", waiting) + " at level " + field("level", waiting));
        ask("POST", "/v1/clock/advance", "{\"duration\": \"2h\"}");
        Lab.await("the delayed message", () -> heard.size() == 1);
        lab.say("received", heard.get(0).getKeys());
        String behind = "{\"lag\": {\"group\": \"" + lab.group("Steered") + "\", \"topic\": \"" + topic + "\"}, "
            + "\"messages\": {\"topic\": \"" + topic + "\"}, \"timeout\": \"30s\"}";
        lab.say("caught up", ask("POST", "/v1/wait-for", behind));
    }

    /** A broker that is silenced loses its route, and has it again when the fault is gone. */
    private static void fault(Lab lab, String topic) throws Exception {
        String fault = field("id", ask("POST", "/v1/faults", "{\"fault\": \"silence\", \"args\": [\"broker-a\"]}"));
        ask("POST", "/v1/clock/advance", "{\"duration\": \"131s\"}");
        DefaultMQProducer stranger = new DefaultMQProducer(lab.group("Stranger"));
        lost(lab, stranger, "stranger");
        stranger.start();
        lab.atEnd(stranger::shutdown);
        lab.sayFailure("while it is silent", () -> stranger.send(message(topic, "t", "nowhere")));
        ask("DELETE", "/v1/faults/" + fault, "");
        ask("POST", "/v1/clock/advance_to_next", "{\"kind\": \"register_broker\"}");
        lab.say("when it speaks again", sent(stranger, topic).getSendStatus());
    }

    /** A broker is killed, and comes back with what it held. */
    private static void broker(Lab lab, String topic, DefaultMQProducer producer) throws Exception {
        lab.say("killed", field("state", ask("POST", "/v1/brokers/broker-a/kill", "")));
        try {
            producer.send(message(topic, "t", "to a dead broker"));
            lab.say("sent to a dead broker", "without failure");
        } catch (MQClientException failure) {
            lab.say("sent to a dead broker", failure.getCause().getClass().getSimpleName());
        }
        lab.say("restarted", field("state", ask("POST", "/v1/brokers/broker-a/restart", "")));
        lab.say("sent to the same", sent(producer, topic).getSendStatus());
        lab.say("stored", field("total", ask("GET", "/v1/topics/" + topic + "/messages", "")));
    }

    /** Names a client that is told no name server, and patience. */
    private static void lost(Lab lab, ClientConfig client, String name) {
        client.setInstanceName(lab.topic(name));
        Lab.patient(client);
    }

    /** Sends as soon as there is a route again, and a connection. */
    private static SendResult sent(DefaultMQProducer producer, String topic) throws Exception {
        SendResult[] result = new SendResult[1];
        Lab.await("a send to " + topic, () -> Lab.routed(() -> {
            result[0] = producer.send(message(topic, "t", "again"));
            return true;
        }));
        return result[0];
    }

    /** What the control port answers; whoever is refused fails. */
    private static String ask(String method, String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(CONTROL + path))
            .header("Content-Type", "application/json")
            .method(method, HttpRequest.BodyPublishers.ofString(body)).build();
        HttpResponse<String> answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IllegalStateException(method + " " + path + ": " + answer.statusCode() + " " + answer.body());
        }
        return answer.body();
    }

    /** The first value of a name in a JSON text. */
    private static String field(String name, String json) {
        Matcher matcher = Pattern.compile("\"" + name + "\":\"?([^,\"}]*)").matcher(json);
        if (!matcher.find()) {
            throw new IllegalStateException("no " + name + " in " + json);
        }
        return matcher.group(1);
    }
}
