package conformance;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.LitePushConsumer;
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.consumer.OffsetOption;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.ProducerBuilder;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.remoting.protocol.subscription.CustomizedRetryPolicy;
import org.apache.rocketmq.remoting.protocol.subscription.GroupRetryPolicy;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;

/** The gRPC client behind a proxy, whose address the property {@code conformance.proxy} has. */
final class GrpcClients {
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    private static final int ATTEMPTS = 3;

    private GrpcClients() {
    }

    static void register(Map<String, Program.Scenario> scenarios) {
        scenarios.put("grpcplain", GrpcClients::plain);
        scenarios.put("grpcchange", GrpcClients::change);
        scenarios.put("grpcretry", GrpcClients::retry);
        scenarios.put("grpcfifo", GrpcClients::fifo);
        scenarios.put("grpcdelay", GrpcClients::delay);
        scenarios.put("grpctransaction", GrpcClients::transaction);
        scenarios.put("grpcfifopush", GrpcClients::fifoPush);
        scenarios.put("grpcfilters", GrpcClients::filters);
        scenarios.put("grpcunknown", GrpcClients::unknown);
        scenarios.put("grpctls", GrpcClients::tls);
        scenarios.put("grpcfailover", GrpcClients::failOver);
        scenarios.put("grpclite", GrpcClients::lite);
        scenarios.put("grpclitemoved", GrpcClients::liteMoved);
    }

    private static ClientConfiguration configuration() {
        return configuration(false);
    }

    private static ClientConfiguration configuration(boolean tls) {
        return ClientConfiguration.newBuilder().setEndpoints(System.getProperty("conformance.proxy")).enableSsl(tls)
            .setRequestTimeout(Duration.ofSeconds(15)).build();
    }

    /** Creates a topic of a type on every master; the proxy asks for it when a client does. */
    private static String topic(Lab lab, String name, String type) throws Exception {
        String topic = lab.topic(name);
        TopicConfig config = new TopicConfig(topic, 2, 2, 6);
        config.getAttributes().put("+message.type", type);
        for (String address : lab.masters().values()) {
            lab.admin().createAndUpdateTopicConfig(address, config);
        }
        Lab.await("route of " + topic, () -> Lab.routed(() -> lab.queuesOf(topic).size() == 2 * lab.masters().size()));
        return topic;
    }

    /** Creates a group that tries three times, the second and third time after a second. */
    private static String group(Lab lab, String name, boolean orderly) throws Exception {
        return group(lab, name, orderly, Map.of());
    }

    private static String group(Lab lab, String name, boolean orderly, Map<String, String> attributes) throws Exception {
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(lab.group(name));
        config.setRetryMaxTimes(ATTEMPTS - 1);
        config.setConsumeMessageOrderly(orderly);
        config.setAttributes(attributes);
        GroupRetryPolicy policy = new GroupRetryPolicy();
        policy.setCustomizedRetryPolicy(new CustomizedRetryPolicy(new long[] {1000}));
        config.setGroupRetryPolicy(policy);
        for (String address : lab.masters().values()) {
            lab.admin().createAndUpdateSubscriptionGroupConfig(address, config);
        }
        return config.getGroupName();
    }

    private static Producer producer(Lab lab, String topic) throws Exception {
        return started(lab, PROVIDER.newProducerBuilder().setClientConfiguration(configuration()).setTopics(topic));
    }

    private static Producer started(Lab lab, ProducerBuilder builder) throws Exception {
        Producer producer = builder.build();
        lab.atEnd(producer::close);
        return producer;
    }

    private static SimpleConsumer consumer(Lab lab, String group, String topic, String tags) throws Exception {
        return consumer(lab, configuration(), group, topic, new FilterExpression(tags, FilterExpressionType.TAG));
    }

    private static SimpleConsumer consumer(Lab lab, ClientConfiguration configuration, String group, String topic, FilterExpression filter)
        throws Exception {
        SimpleConsumer consumer = PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(configuration).setConsumerGroup(group)
            .setAwaitDuration(Duration.ofSeconds(5)).setSubscriptionExpressions(Map.of(topic, filter)).build();
        lab.atEnd(consumer::close);
        return consumer;
    }

    private static MessageBuilder message(String topic, String key) {
        return PROVIDER.newMessageBuilder().setTopic(topic).setKeys(key).setTag("t")
            .setBody(("body of " + key).getBytes(StandardCharsets.UTF_8));
    }

    private static String key(MessageView message) {
        return String.join(" ", message.getKeys());
    }

    private static String told(MessageView message) {
        Map<String, String> properties = new TreeMap<>(message.getProperties());
        properties.remove("TRANSACTION_CHECK_TIMES"); // while other scenarios keep a broker busy, it asks more than once
        return "topic=" + message.getTopic() + " keys=" + message.getKeys() + " tag=" + message.getTag().orElse(null)
            + " body=" + StandardCharsets.UTF_8.decode(message.getBody()) + " properties=" + properties
            + " group=" + message.getMessageGroup().orElse(null) + " attempt=" + message.getDeliveryAttempt()
            + " bornHost=" + message.getBornHost().isEmpty();
    }

    /** Receives so many messages, each acknowledged at once: the next ones may take longer than it is invisible. */
    private static List<MessageView> receive(SimpleConsumer consumer, int count) throws Exception {
        List<MessageView> found = new ArrayList<>();
        Lab.await(count + " messages", 90, () -> {
            for (MessageView message : consumer.receive(16, Duration.ofSeconds(10))) {
                found.add(message);
                consumer.ack(message);
            }
            return found.size() >= count;
        });
        found.sort(java.util.Comparator.comparing(GrpcClients::key));
        return found;
    }

    /** Receives one message, and leaves it unacknowledged. */
    private static MessageView receiveOne(SimpleConsumer consumer) throws Exception {
        List<MessageView> found = new ArrayList<>();
        Lab.await("a message", 90, () -> found.addAll(consumer.receive(1, Duration.ofSeconds(10))));
        return found.get(0);
    }

    private static void plain(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcPlain", "NORMAL");
        String group = group(lab, "GrpcPlain", false);
        Producer producer = producer(lab, topic);
        for (int i = 0; i < 8; i++) {
            SendReceipt receipt = producer.send(message(topic, "m" + i).addProperty("number", String.valueOf(i)).build());
            lab.say("sent", receipt.getMessageId().toString().length());
        }
        SimpleConsumer consumer = consumer(lab, group, topic, "*");
        for (MessageView message : receive(consumer, 8)) {
            lab.say("received", told(message));
        }
        lab.sayFailure("another tag", () -> consumer(lab, group(lab, "GrpcTag", false), topic, "other").receive(16, Duration.ofSeconds(10)));
        lab.sayFailure("of another type", () -> producer.send(message(topic, "fifo").setMessageGroup("g").build()));
        lab.say("committed", lab.committed("GrpcPlain", topic));
    }

    private static void change(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcChange", "NORMAL");
        SimpleConsumer consumer = consumer(lab, group(lab, "GrpcChange", false), topic, "*");
        Producer producer = producer(lab, topic);
        producer.send(message(topic, "sooner").build());
        MessageView first = receiveOne(consumer);
        long began = System.nanoTime();
        consumer.changeInvisibleDuration(first, Duration.ofSeconds(2));
        MessageView again = receiveOne(consumer);
        long waited = (System.nanoTime() - began) / 1_000_000;
        lab.say("it came again", told(again) + " early=" + (waited < 1900));
        consumer.ack(again);
        lab.sayFailure("the first handle", () -> {
            consumer.ack(first);
            return "taken";
        });
    }

    private static void retry(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcRetry", "NORMAL");
        String group = group(lab, "GrpcRetry", false);
        Collection<String> heard = new ConcurrentLinkedQueue<>();
        PushConsumer consumer = PROVIDER.newPushConsumerBuilder().setClientConfiguration(configuration()).setConsumerGroup(group)
            .setSubscriptionExpressions(Map.of(topic, new FilterExpression("*", FilterExpressionType.TAG)))
            .setMessageListener(message -> {
                heard.add(key(message) + " " + message.getDeliveryAttempt());
                boolean done = key(message).equals("good") || key(message).equals("once") && message.getDeliveryAttempt() > 1;
                return done ? ConsumeResult.SUCCESS : ConsumeResult.FAILURE;
            }).build();
        lab.atEnd(consumer::close);
        Producer producer = producer(lab, topic);
        for (String key : List.of("good", "once", "bad")) {
            producer.send(message(topic, key).build());
        }
        Lab.await("six deliveries", 90, () -> heard.size() >= 6);
        lab.say("heard", new TreeSet<>(heard));
        String dead = "%DLQ%" + group;
        lab.say("buried", Lab.keys(lab.stored(dead, 1)));
    }

    private static void fifoPush(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcFifoPush", "FIFO");
        String group = group(lab, "GrpcFifoPush", true);
        Collection<String> heard = new ConcurrentLinkedQueue<>();
        PushConsumer consumer = PROVIDER.newPushConsumerBuilder().setClientConfiguration(configuration()).setConsumerGroup(group)
            .setSubscriptionExpressions(Map.of(topic, new FilterExpression("*", FilterExpressionType.TAG)))
            .setMessageListener(message -> {
                heard.add(key(message));
                return key(message).equals("m2") ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
            }).build();
        lab.atEnd(consumer::close);
        Producer producer = producer(lab, topic);
        for (int i = 0; i < 6; i++) {
            producer.send(message(topic, "m" + i).setMessageGroup("one group").build());
        }
        Lab.await("the last message", 90, () -> heard.contains("m5"));
        lab.say("in order", heard);
        lab.say("buried", Lab.keys(lab.stored("%DLQ%" + group, 1)));
    }

    private static void filters(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcFilters", "NORMAL");
        Producer producer = producer(lab, topic);
        for (int i = 0; i < 6; i++) {
            producer.send(message(topic, "m" + i).setTag("t" + "abc".charAt(i % 3)).addProperty("number", String.valueOf(i)).build());
        }
        Map<String, FilterExpression> expressions = new TreeMap<>(Map.of(
            "ta", new FilterExpression("ta", FilterExpressionType.TAG),
            "ta || tc", new FilterExpression("ta || tc", FilterExpressionType.TAG),
            "number > 3", new FilterExpression("number > 3", FilterExpressionType.SQL92)));
        int[] counts = {2, 2, 4};
        int at = 0;
        for (Map.Entry<String, FilterExpression> one : expressions.entrySet()) {
            SimpleConsumer consumer = consumer(lab, configuration(), group(lab, "GrpcFilter" + at, false), topic, one.getValue());
            List<String> keys = new ArrayList<>();
            for (MessageView message : receive(consumer, counts[at])) {
                keys.add(key(message));
            }
            lab.say(one.getKey(), keys);
            at++;
        }
    }

    private static void unknown(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcUnknown", "NORMAL");
        Producer producer = producer(lab, topic);
        lab.sayFailure("to no topic", () -> producer.send(message("GrpcNowhere", "lost").build()));
        lab.say("a producer of no topic", failure(() -> producer(lab, "GrpcNowhere")));
        lab.say("a consumer of no topic", failure(() -> consumer(lab, group(lab, "GrpcUnknown", false), "GrpcNowhere", "*")));
    }

    /** Returns the class of an exception, whose text has numbers of clients in this JVM. */
    private static String failure(java.util.concurrent.Callable<?> action) {
        try {
            action.call();
            return "none";
        } catch (Exception e) {
            return e.getClass().getSimpleName();
        }
    }

    private static void tls(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcTls", "NORMAL");
        Producer producer = started(lab, PROVIDER.newProducerBuilder().setClientConfiguration(configuration(true)).setTopics(topic));
        for (int i = 0; i < 4; i++) {
            producer.send(message(topic, "m" + i).build());
        }
        FilterExpression everything = new FilterExpression("*", FilterExpressionType.TAG);
        SimpleConsumer consumer = consumer(lab, configuration(true), group(lab, "GrpcTls", false), topic, everything);
        for (MessageView message : receive(consumer, 4)) {
            lab.say("received", told(message));
        }
    }

    /**
     * Sends and receives side by side, while somebody else ends the master: for {@code conformance.seconds}, and until
     * what was acknowledged has come and nothing more comes, or its time is over: who reads the lines sees what is missing.
     */
    private static void failOver(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcFailOver", "NORMAL");
        Producer producer = producer(lab, topic);
        SimpleConsumer consumer = consumer(lab, group(lab, "GrpcFailOver", false), topic, "*");
        long end = System.nanoTime() + Integer.getInteger("conformance.seconds") * 1_000_000_000L;
        Set<String> sent = ConcurrentHashMap.newKeySet();
        Set<String> received = new TreeSet<>();
        long[] last = {System.nanoTime()};
        Thread sending = new Thread(() -> {
            for (int i = 0; System.nanoTime() < end; i++) {
                try {
                    producer.send(message(topic, "m" + i).build());
                    sent.add("m" + i);
                    lab.say("sent", "m" + i);
                } catch (ClientException e) {
                    e.printStackTrace(); // no master
                }
                LockSupport.parkNanos(100_000_000L);
            }
        });
        sending.start();
        Callable<Boolean> hear = () -> {
            try {
                for (MessageView message : consumer.receive(16, Duration.ofSeconds(10))) {
                    last[0] = System.nanoTime();
                    received.add(key(message));
                    lab.say("received", key(message));
                    consumer.ack(message);
                }
            } catch (ClientException e) {
                e.printStackTrace(); // no master
            }
            return received.containsAll(sent) && System.nanoTime() - last[0] > 15_000_000_000L;
        };
        while (sending.isAlive()) {
            hear.call();
        }
        for (long deadline = System.nanoTime() + 45_000_000_000L; System.nanoTime() < deadline && !hear.call(); ) {
            continue;
        }
    }

    private static LitePushConsumer liteConsumer(Lab lab, String group, String topic, MessageListener listener) throws Exception {
        LitePushConsumer consumer = PROVIDER.newLitePushConsumerBuilder().setClientConfiguration(configuration()).bindTopic(topic)
            .setConsumerGroup(group).setMessageListener(listener).build();
        lab.atEnd(consumer::close);
        return consumer;
    }

    private static String heardOf(MessageView message) {
        return key(message) + " of " + message.getLiteTopic().orElse(null) + " attempt " + message.getDeliveryAttempt();
    }

    /** Subscribes to some lite topics, to one more with all that it has, and no longer to another one. */
    private static void lite(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcLite", "LITE");
        String group = group(lab, "GrpcLite", false, Map.of("+lite.bind.topic", topic));
        Producer producer = producer(lab, topic);
        Set<String> heard = ConcurrentHashMap.newKeySet();
        LitePushConsumer consumer = liteConsumer(lab, group, topic, message -> {
            heard.add(heardOf(message));
            return key(message).equals("m1") && message.getDeliveryAttempt() == 1 ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
        });
        for (int i = 0; i < 9; i++) {
            producer.send(message(topic, "m" + i).setLiteTopic("abc".substring(i % 3, i % 3 + 1)).build());
        }
        // All of a lite topic is there, so one pop takes it, and what follows a failed message comes again with it.
        consumer.subscribeLite("a", OffsetOption.MIN_OFFSET);
        consumer.subscribeLite("b", OffsetOption.MIN_OFFSET);
        Lab.await("six messages, three of them twice", 90, () -> heard.size() >= 9);
        lab.say("heard", new TreeSet<>(heard));
        lab.say("lite topics", new TreeSet<>(consumer.getLiteTopicSet()));
        heard.clear();
        consumer.subscribeLite("c", OffsetOption.MIN_OFFSET);
        Lab.await("three messages", 90, () -> heard.size() >= 3);
        lab.say("of a third one", new TreeSet<>(heard));
        heard.clear();
        consumer.unsubscribeLite("a");
        producer.send(message(topic, "unheard").setLiteTopic("a").build());
        producer.send(message(topic, "heard").setLiteTopic("b").build());
        Lab.await("a message", 90, () -> heard.size() >= 1);
        lab.say("without the first one", new TreeSet<>(heard));
        lab.sayFailure("a name that no lite topic has", () -> producer.send(message(topic, "odd").setLiteTopic("a b").build()));
        lab.sayFailure("without a lite topic", () -> producer.send(message(topic, "plain").build()));
    }

    /** A lite topic of an exclusive group moves to the client that subscribes last. */
    private static void liteMoved(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcLiteMoved", "LITE");
        String group = group(lab, "GrpcLiteMoved", false, Map.of("+lite.bind.topic", topic, "+lite.sub.model", "Exclusive"));
        Producer producer = producer(lab, topic);
        Set<String> heard = ConcurrentHashMap.newKeySet();
        LitePushConsumer first = liteConsumer(lab, group, topic, message -> {
            heard.add("first " + heardOf(message));
            return ConsumeResult.SUCCESS;
        });
        first.subscribeLite("a");
        first.subscribeLite("b");
        producer.send(message(topic, "m0").setLiteTopic("a").build());
        Lab.await("a message", 90, () -> heard.size() >= 1);
        LitePushConsumer second = liteConsumer(lab, group, topic, message -> {
            heard.add("second " + heardOf(message));
            return ConsumeResult.SUCCESS;
        });
        second.subscribeLite("a");
        Lab.await("the end of a subscription", 90, () -> first.getLiteTopicSet().size() == 1);
        lab.say("left to the first", first.getLiteTopicSet());
        producer.send(message(topic, "m1").setLiteTopic("a").build());
        producer.send(message(topic, "m2").setLiteTopic("b").build());
        Lab.await("three messages", 90, () -> heard.size() >= 3);
        lab.say("heard", new TreeSet<>(heard));
    }

    private static void fifo(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcFifo", "FIFO");
        SimpleConsumer consumer = consumer(lab, group(lab, "GrpcFifo", true), topic, "*");
        Producer producer = producer(lab, topic);
        for (int i = 0; i < 6; i++) {
            producer.send(message(topic, "m" + i).setMessageGroup("one group").build());
        }
        List<String> inOrder = new ArrayList<>();
        Lab.await("6 in order", 90, () -> {
            for (MessageView message : consumer.receive(2, Duration.ofSeconds(10))) {
                inOrder.add(key(message));
                consumer.ack(message);
            }
            return inOrder.size() >= 6;
        });
        lab.say("in order", inOrder);
    }

    private static void delay(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcDelay", "DELAY");
        SimpleConsumer consumer = consumer(lab, group(lab, "GrpcDelay", false), topic, "*");
        Producer producer = producer(lab, topic);
        long at = System.currentTimeMillis() + 6000;
        SendReceipt gone = producer.send(message(topic, "gone").setDeliveryTimestamp(at).build());
        producer.send(message(topic, "stays").setDeliveryTimestamp(at).build());
        lab.sayFailure("recalled", () -> producer.recallMessage(topic, gone.getRecallHandle()).getMessageId().equals(gone.getMessageId()));
        lab.sayFailure("no handle", () -> producer.recallMessage(topic, "nonsense"));
        MessageView message = receive(consumer, 1).get(0);
        lab.say("received", told(message));
        lab.say("not early", System.currentTimeMillis() >= at - 1000);
    }

    private static void transaction(Lab lab) throws Exception {
        String topic = topic(lab, "GrpcTransaction", "TRANSACTION");
        SimpleConsumer consumer = consumer(lab, group(lab, "GrpcTransaction", false), topic, "*");
        Collection<String> checked = new ConcurrentLinkedQueue<>();
        Producer producer = started(lab, PROVIDER.newProducerBuilder().setClientConfiguration(configuration()).setTopics(topic)
            .setTransactionChecker(message -> {
                if (!key(message).equals("left")) { // on a busy machine brokers may ask about one that the producer is about to end
                    return TransactionResolution.UNKNOWN;
                }
                checked.add("left");
                return TransactionResolution.COMMIT;
            }));
        for (String key : List.of("committed", "rolled back", "left")) {
            Transaction transaction = producer.beginTransaction();
            Message message = message(topic, key).build();
            producer.send(message, transaction);
            if (key.equals("committed")) {
                transaction.commit();
            } else if (key.equals("rolled back")) {
                transaction.rollback();
            }
        }
        for (MessageView message : receive(consumer, 2)) {
            lab.say("received", told(message));
        }
        lab.say("checked", new TreeSet<>(checked));
    }
}
