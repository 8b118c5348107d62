package conformance;

import static conformance.Drivers.event;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * The tests of a project, as JUnit would run them: one after another in one JVM.
 *
 * <p>{@code suite}: {@code ready}, then for each line {@code NAMESRV CONTROL FIRST COUNT} on stdin the tests FIRST to
 * FIRST + COUNT - 1, and {@code done}. Each test asks the control port CONTROL to reset its cluster first, and to move its
 * clock over the delay of the retry; a dash is for a real cluster, which keeps what it has and needs no delays. The first test that fails ends the program with its stack trace.
 */
final class Suite {
    private static final int MESSAGES = 10;
    private static final int QUEUES = 4;
    private static final int TIMEOUT_S = 30;
    private static final String FAILS_ONCE = "order 3";

    private Suite() {
    }

    static void run() throws Exception {
        event("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String command = commands.readLine(); command != null; command = commands.readLine()) {
            String[] words = command.split(" ");
            int first = Integer.parseInt(words[2]);
            DefaultMQAdminExt admin = new DefaultMQAdminExt();
            admin.setNamesrvAddr(words[0]);
            admin.setInstanceName("admin-" + first);
            admin.start();
            for (int number = first; number < first + Integer.parseInt(words[3]); number++) {
                post(words[1], "reset", "");
                orderIsChargedAgainAfterAFailure(admin, words[1], number);
            }
            admin.shutdown();
            event("done");
        }
    }

    private static void post(String control, String what, String body) throws IOException {
        if (control.equals("-")) {
            return;
        }
        HttpURLConnection connection = (HttpURLConnection) new URL(control + "/v1/" + what).openConnection();
        connection.setRequestMethod("POST");
        connection.setDoOutput(true);
        connection.getOutputStream().write(body.getBytes(StandardCharsets.UTF_8));
        if (connection.getResponseCode() >= 300) {
            throw new IOException(what + ": " + connection.getResponseCode());
        }
        connection.getInputStream().readAllBytes();
    }

    private static void createTopic(DefaultMQAdminExt admin, String topic, int queues) throws Exception {
        String broker = admin.examineBrokerClusterInfo().getBrokerAddrTable().get("broker-a").selectBrokerAddr();
        admin.createAndUpdateTopicConfig(broker, new TopicConfig(topic, queues, queues, 6));
    }

    private static void orderIsChargedAgainAfterAFailure(DefaultMQAdminExt admin, String control, int number)
        throws Exception {
        String namesrv = admin.getNamesrvAddr();
        String topic = "orders-" + number;
        String group = "billing-" + number;
        String retryTopic = "%RETRY%" + group;
        createTopic(admin, topic, QUEUES);
        // A consumer that starts before its group has a retry topic looks for it 20 s later.
        createTopic(admin, retryTopic, 1);
        DefaultMQProducer producer = new DefaultMQProducer("shop-" + number);
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName("shop-" + number);
        producer.start();
        Map<String, Integer> attempts = new ConcurrentHashMap<>();
        CountDownLatch untried = new CountDownLatch(MESSAGES);
        CountDownLatch missing = new CountDownLatch(MESSAGES + 1);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("billing-" + number);
        // A heartbeat is left out while another is under way. If it had the newest subscription, the broker refuses pulls
        // (code 25) until the next one, by default for 30 s.
        consumer.setHeartbeatBrokerInterval(1000);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            MessageExt message = messages.get(0);
            String order = new String(message.getBody(), StandardCharsets.UTF_8);
            attempts.merge(order, 1, Integer::sum);
            untried.countDown();
            missing.countDown();
            return order.equals(FAILS_ONCE) && message.getReconsumeTimes() == 0
                ? ConsumeConcurrentlyStatus.RECONSUME_LATER
                : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        for (int i = 0; i < MESSAGES; i++) {
            producer.send(new Message(topic, ("order " + i).getBytes(StandardCharsets.UTF_8)));
        }
        untried.await(TIMEOUT_S, TimeUnit.SECONDS);
        post(control, "run-until", "{\"messages\": {\"topic\": \"" + retryTopic + "\"}, \"at_most\": \"1m\"}");
        boolean complete = missing.await(TIMEOUT_S, TimeUnit.SECONDS);
        consumer.shutdown();
        producer.shutdown();
        Map<String, Integer> expected = IntStream.range(0, MESSAGES).mapToObj(i -> "order " + i)
            .collect(Collectors.toMap(order -> order, order -> order.equals(FAILS_ONCE) ? 2 : 1));
        if (!complete || !attempts.equals(expected)) {
            throw new AssertionError("test " + number + ": " + attempts);
        }
    }
}
