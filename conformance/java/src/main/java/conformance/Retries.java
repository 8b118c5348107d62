package conformance;

import static conformance.Lab.message;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Messages that consumers could not do; the clusters' levels from the third on, where retries begin, are 1 s. */
final class Retries {
    private Retries() {
    }

    /** One message given to a listener, told before the client changes it for the next time. */
    private static final class Heard {
        final ConcurrentLinkedQueue<String> descriptions = new ConcurrentLinkedQueue<>();
        final Map<String, List<Long>> at = new TreeMap<>();

        synchronized int times(String key) {
            return at.getOrDefault(key, List.of()).size();
        }

        synchronized int total() {
            return at.values().stream().mapToInt(List::size).sum();
        }

        synchronized void add(Lab lab, MessageExt message) {
            try {
                message.getProperties().remove("MAX_OFFSET");
                List<Long> times = at.computeIfAbsent(message.getKeys(), key -> new ArrayList<>());
                times.add(System.currentTimeMillis());
                descriptions.add(message.getKeys() + " for the " + times.size() + ". time: " + lab.describe(message));
            } catch (Exception e) {
                descriptions.add(e.toString());
            }
        }

        void say(Lab lab) {
            descriptions.stream().sorted().forEach(told -> lab.say("received", told));
        }

        /** Whether a key came again not before, and soon after, a second each time. */
        synchronized boolean eachAfterASecond(String key) {
            List<Long> times = at.get(key);
            for (int i = 1; i < times.size(); i++) {
                long gap = times.get(i) - times.get(i - 1);
                if (gap < 990 || gap > 7000) {
                    return false;
                }
            }
            return true;
        }
    }

    private static DefaultMQPushConsumer consumer(Lab lab, String group, String topic, MessageListenerConcurrently listener)
        throws Exception {
        DefaultMQPushConsumer consumer = lab.pushConsumer(group, "retrying");
        consumer.subscribe(topic, "*");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.registerMessageListener(listener);
        return consumer;
    }

    /** Starts it and waits until it reads its retry topic too, which its first heartbeat has made. */
    private static void start(DefaultMQPushConsumer consumer) throws Exception {
        consumer.start();
        Lab.await("retry queues", () -> {
            Lab.refresh(consumer);
            return Pushes.assigned(consumer, "%RETRY%" + consumer.getConsumerGroup()).size() == 2;
        });
    }

    static void retry(Lab lab) throws Exception {
        String topic = lab.createTopic("Retry", 1);
        DefaultMQProducer producer = lab.producer("Retry");
        Heard heard = new Heard();
        DefaultMQPushConsumer consumer = consumer(lab, "Retry", topic, (messages, context) -> {
            MessageExt message = messages.get(0);
            heard.add(lab, message);
            boolean done = message.getKeys().equals("good") || message.getKeys().equals("once") && message.getReconsumeTimes() > 0;
            if (message.getKeys().equals("throws")) {
                throw new IllegalStateException("cannot");
            }
            return done ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        consumer.setMaxReconsumeTimes(2);
        start(consumer);
        for (String key : new String[] {"good", "once", "bad", "throws"}) {
            producer.send(message(topic, "t", key), new MessageQueue(topic, "broker-a", 0));
        }
        String dead = "%DLQ%" + lab.group("Retry");
        List<MessageExt> buried = lab.stored(dead, 2);
        heard.say(lab);
        lab.say("bad came each second", heard.eachAfterASecond("bad"));
        lab.say("once came after a second", heard.eachAfterASecond("once"));
        lab.say("dead letter queues", Lab.queues(lab.queuesOf(dead)));
        for (MessageExt message : Lab.byKey(buried)) {
            lab.say("buried", lab.describe(message));
        }
        String retries = "%RETRY%" + lab.group("Retry");
        List<MessageExt> again = lab.stored(retries, 5);
        again.sort(Comparator.comparing(MessageExt::getKeys).thenComparing(MessageExt::getReconsumeTimes));
        for (MessageExt message : again) {
            lab.say("stored for a retry", lab.describe(message));
        }
        lab.say("retry queues", Lab.queues(lab.queuesOf(retries)));

        DefaultMQPushConsumer undertaker = lab.pushConsumer("RetryDead", "undertaker");
        Pushes.Ear ear = new Pushes.Ear(undertaker, dead, "*").start();
        Lab.await("the dead", () -> ear.keys().size() == 2);
        lab.say("another group reads the dead letters", ear.keys());
    }

    static void retryLevels(Lab lab) throws Exception {
        String topic = lab.createTopic("RetryLevels", 1);
        DefaultMQProducer producer = lab.producer("RetryLevels");
        Heard heard = new Heard();
        DefaultMQPushConsumer consumer = consumer(lab, "RetryLevels", topic, (messages, context) -> {
            MessageExt message = messages.get(0);
            heard.add(lab, message);
            if (message.getReconsumeTimes() > 0) {
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            }
            context.setDelayLevelWhenNextConsume(Integer.parseInt(message.getKeys().split("_")[1]));
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        start(consumer);
        for (String level : new String[] {"level_-1", "level_0", "level_1", "level_2", "level_18", "level_99"}) {
            producer.send(message(topic, "t", level), new MessageQueue(topic, "broker-b", 0));
        }
        List<MessageExt> buried = lab.stored("%DLQ%" + lab.group("RetryLevels"), 1);
        Lab.await("all but the dead again", () -> heard.total() == 11);
        heard.say(lab);
        for (MessageExt message : buried) {
            lab.say("buried", lab.describe(message));
        }
        for (String level : new String[] {"level_0", "level_1"}) {
            lab.say(level + " after a second", heard.eachAfterASecond(level));
        }
        lab.say("level_2 later than level_1", heard.at.get("level_2").get(1) > heard.at.get("level_1").get(1));
    }

    static void retryRest(Lab lab) throws Exception {
        String topic = lab.createTopic("RetryRest", 1);
        DefaultMQProducer producer = lab.producer("RetryRest");
        for (int i = 0; i < 6; i++) {
            producer.send(message(topic, "t", "m" + i), new MessageQueue(topic, "broker-a", 0));
        }
        Lab.await("6 messages", () -> lab.total(topic) == 6);
        Heard heard = new Heard();
        ConcurrentLinkedQueue<Integer> sizes = new ConcurrentLinkedQueue<>();
        DefaultMQPushConsumer consumer = consumer(lab, "RetryRest", topic, (messages, context) -> {
            messages.forEach(message -> heard.add(lab, message));
            if (messages.get(0).getReconsumeTimes() == 0) {
                sizes.add(messages.size());
                context.setAckIndex(1);
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.setConsumeMessageBatchMaxSize(6);
        start(consumer);
        Lab.await("the rest again", () -> heard.total() == 10);
        lab.say("batches", sizes);
        for (int i = 0; i < 6; i++) {
            lab.say("m" + i + " came", heard.times("m" + i) + " times");
        }
        lab.say("for a retry", Lab.keys(lab.stored("%RETRY%" + lab.group("RetryRest"), 4)));
    }

    static void sendBack(Lab lab) throws Exception {
        String topic = lab.createTopic("SendBack", 1);
        DefaultMQProducer producer = lab.producer("SendBack");
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        for (String key : new String[] {"default", "first", "dead"}) {
            producer.send(message(topic, "t", key), queue);
        }
        DefaultMQPullConsumer consumer = lab.pullConsumer("SendBack");
        Lab.await("3 messages", () -> consumer.maxOffset(queue) == 3);
        List<MessageExt> pulled = consumer.pull(queue, "*", 0, 32).getMsgFoundList();
        consumer.sendMessageBack(pulled.get(0), 0, "broker-a");
        consumer.sendMessageBack(pulled.get(1), 1, "broker-a");
        consumer.sendMessageBack(pulled.get(2), -1, "broker-a");
        List<MessageExt> again = lab.stored("%RETRY%" + lab.group("SendBack"), 2);
        for (MessageExt message : Lab.byKey(again)) {
            lab.say("stored for a retry", lab.describe(message));
        }
        for (MessageExt message : lab.stored("%DLQ%" + lab.group("SendBack"), 1)) {
            lab.say("buried", lab.describe(message));
        }
        // A retry of a retry keeps the first one's id.
        MessageExt retried = Lab.byKey(again).get(0);
        consumer.sendMessageBack(retried, 1, "broker-a");
        List<MessageExt> twice = lab.stored("%RETRY%" + lab.group("SendBack"), 3);
        twice.removeIf(message -> message.getReconsumeTimes() < 2);
        lab.say("sent back twice", lab.describe(twice.get(0)));
        lab.say("its origin is the first",
            twice.get(0).getProperty("ORIGIN_MESSAGE_ID").equals(((MessageClientExt) pulled.get(0)).getOffsetMsgId()));
        // Where the broker does not find it, the client sends it to the retry topic itself.
        MessageExt lost = pulled.get(1);
        lost.setCommitLogOffset(lost.getCommitLogOffset() + 1);
        lost.setKeys("lost");
        consumer.sendMessageBack(lost, 0, "broker-a");
        List<MessageExt> all = lab.stored("%RETRY%" + lab.group("SendBack"), 4);
        all.removeIf(message -> !message.getKeys().equals("lost"));
        all.get(0).getProperties().remove("MAX_OFFSET"); // on a queue that the client chose
        lab.say("sent by the client", lab.describe(all.get(0)));
    }

    static void orderlyRetry(Lab lab) throws Exception {
        String topic = lab.createTopic("OrderlyRetry", 1);
        DefaultMQProducer producer = lab.producer("OrderlyRetry");
        for (String broker : new String[] {"broker-a", "broker-b"}) {
            for (int i = 0; i < 5; i++) {
                producer.send(message(topic, "t", broker + "-m" + i), new MessageQueue(topic, broker, 0));
            }
        }
        Map<String, List<String>> order = new TreeMap<>();
        DefaultMQPushConsumer consumer = lab.pushConsumer("OrderlyRetry", "suspending");
        consumer.subscribe(topic, "*");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setMaxReconsumeTimes(3);
        consumer.setSuspendCurrentQueueTimeMillis(100);
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            MessageExt message = messages.get(0);
            synchronized (order) {
                order.computeIfAbsent(Lab.queue(context.getMessageQueue()), queue -> new ArrayList<>())
                    .add(message.getKeys().substring(9) + "x" + message.getReconsumeTimes());
            }
            // The second message of one queue fails twice, of the other always.
            boolean fails = message.getKeys().equals("broker-a-m2") && message.getReconsumeTimes() < 2
                || message.getKeys().equals("broker-b-m2");
            return fails ? ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT : ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        List<MessageExt> buried = lab.stored("%DLQ%" + lab.group("OrderlyRetry"), 1);
        Lab.await("both queues to their end", () -> {
            synchronized (order) {
                return order.values().stream().filter(keys -> keys.contains("m4x0")).count() == 2;
            }
        });
        order.forEach((queue, keys) -> lab.say("order in " + queue, keys));
        for (MessageExt message : buried) {
            lab.say("buried", lab.describe(message));
        }
        consumer.shutdown();
        DefaultMQPullConsumer committed = lab.pullConsumer("OrderlyRetry");
        for (MessageQueue queue : lab.queuesOf(topic)) {
            lab.say("committed of " + Lab.queue(queue), committed.fetchConsumeOffset(queue, true));
        }
    }
}
