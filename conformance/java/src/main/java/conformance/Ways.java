package conformance;

import static conformance.Lab.message;

import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListSet;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** One program, two ways: consumers that pop, and consumers that pull. Clients and brokers are of 5.x. */
final class Ways {
    private static final int RETRY_S = 90;

    private Ways() {
    }

    enum Way {
        POP, CLASSIC;

        String name(String what) {
            return (this == POP ? "Pop" : "Classic") + what;
        }

        /** A consumer of this way, which is not started yet; {@code share} is what code 401 says of a POP group. */
        DefaultMQPushConsumer consumer(Lab lab, String what, String topic, String instance, int share) throws Exception {
            DefaultMQPushConsumer consumer = lab.pushConsumer(name(what), instance);
            if (this == POP) {
                Five.setPop(lab, topic, consumer.getConsumerGroup(), share);
                Five.popping(consumer);
            }
            return consumer;
        }

        Pushes.Ear ear(Lab lab, String what, String topic, String expression, String instance) throws Exception {
            return new Pushes.Ear(consumer(lab, what, topic, instance, -1), topic, expression);
        }

        Collection<MessageQueue> assigned(DefaultMQPushConsumer consumer, String topic) throws Exception {
            return this == POP ? Five.popped(consumer, topic) : Pushes.assigned(consumer, topic);
        }

        /** Where messages lie that a group could not do. */
        String retryTopic(String group, String topic) {
            return "%RETRY%" + group + (this == POP ? "_" + topic : "");
        }
    }

    static void register(Map<String, Program.Scenario> scenarios) {
        for (Way way : Way.values()) {
            String word = way.name().toLowerCase();
            scenarios.put(word + "plain", lab -> plain(lab, way));
            scenarios.put(word + "retry", lab -> retry(lab, way));
            scenarios.put(word + "rest", lab -> rest(lab, way));
            scenarios.put(word + "order", lab -> order(lab, way));
            scenarios.put(word + "filters", lab -> filters(lab, way));
            scenarios.put(word + "members", lab -> members(lab, way));
            scenarios.put(word + "dying", lab -> dying(lab, way));
            scenarios.put(word + "timers", lab -> timers(lab, way));
            scenarios.put(word + "recall", lab -> recall(lab, way));
        }
        scenarios.put("popshares", Ways::shares);
    }

    /**
     * A message as a listener gets it, but for what depends on when it was popped: of a receipt handle the first offset, time and
     * revive queue, and of a retry its own offset, too; and how far the queue was.
     */
    private static String told(Lab lab, MessageExt message) throws Exception {
        message.getProperties().remove("MAX_OFFSET");
        return lab.describe(message).replaceAll("POP_CK=\\d+ \\d+ (\\d+) \\d+ ", "POP_CK=START TIME $1 QUEUE ")
            .replaceAll("(POP_CK=\\S+ TIME \\d+ QUEUE 1 \\S+ \\d+) \\d+", "$1 OFFSET");
    }

    private static void plain(Lab lab, Way way) throws Exception {
        String topic = lab.createTopic(way.name("Plain"), 2);
        DefaultMQProducer producer = lab.producer(way.name("Plain"));
        Pushes.Ear ear = way.ear(lab, "Plain", topic, "*", "plain").start();
        for (int i = 0; i < 12; i++) {
            producer.send(message(topic, i % 2 == 0 ? "even" : "odd", "m" + (char) ('a' + i)),
                new MessageQueue(topic, i % 4 < 2 ? "broker-a" : "broker-b", i % 2));
        }
        Lab.await("12 messages", () -> ear.keys().size() == 12);
        for (MessageExt message : Lab.byKey(ear.heard)) {
            lab.say("got", told(lab, message));
        }
        lab.say("times", ear.heard.size());
        lab.say("assigned", Lab.queues(way.assigned(ear.consumer, topic)));
        ear.consumer.shutdown();
        lab.say("committed", lab.committed(way.name("Plain"), topic));
    }

    /** Who fails: how often a message comes again, and where it ends. */
    private static void retry(Lab lab, Way way) throws Exception {
        String topic = lab.createTopic(way.name("Retry"), 1);
        DefaultMQProducer producer = lab.producer(way.name("Retry"));
        Map<String, List<String>> heard = new TreeMap<>();
        DefaultMQPushConsumer consumer = way.consumer(lab, "Retry", topic, "retrying", -1);
        consumer.subscribe(topic, "*");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setMaxReconsumeTimes(1);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            MessageExt message = messages.get(0);
            synchronized (heard) {
                try {
                    heard.computeIfAbsent(message.getKeys(), key -> new ArrayList<>()).add(told(lab, message));
                } catch (Exception e) {
                    lab.fail(e);
                }
            }
            boolean done = message.getKeys().equals("good") || message.getKeys().equals("once") && message.getReconsumeTimes() > 0;
            return done ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        consumer.start();
        for (String key : new String[] {"good", "once", "bad"}) {
            producer.send(message(topic, "t", key), new MessageQueue(topic, "broker-a", 0));
        }
        String group = consumer.getConsumerGroup();
        String again = way.retryTopic(group, topic);
        String dead = "%DLQ%" + group;
        if (way == Way.POP) {
            // Those that came too often a client of 5.x acknowledges itself: nothing is left of them.
            Lab.await("3 retries", RETRY_S, () -> Lab.routed(() -> lab.total(again) == 3));
            Lab.await("all acknowledged", () -> lab.committed(way.name("Retry"), new MessageQueue(again, "broker-a", 0)) == 3);
        } else {
            lab.say("buried", Lab.keys(lab.stored(dead, 1)));
        }
        synchronized (heard) {
            heard.forEach((key, times) -> times.forEach(time -> lab.say(key, time)));
        }
        lab.say("retry queues", Lab.queues(lab.queuesOf(again)));
        lab.sayFailure("dead letter queues", () -> Lab.queues(lab.queuesOf(dead)));
    }

    /** A listener that has done a part of what it was given. */
    private static void rest(Lab lab, Way way) throws Exception {
        String topic = lab.createTopic(way.name("Rest"), 1);
        DefaultMQProducer producer = lab.producer(way.name("Rest"));
        for (int i = 0; i < 6; i++) {
            producer.send(message(topic, "t", "m" + i), new MessageQueue(topic, "broker-a", 0));
        }
        Lab.await("6 messages", () -> lab.total(topic) == 6);
        ConcurrentLinkedQueue<String> first = new ConcurrentLinkedQueue<>();
        ConcurrentLinkedQueue<String> again = new ConcurrentLinkedQueue<>();
        DefaultMQPushConsumer consumer = way.consumer(lab, "Rest", topic, "rest", -1);
        consumer.subscribe(topic, "*");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeMessageBatchMaxSize(6);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            boolean isFirst = messages.get(0).getReconsumeTimes() == 0;
            messages.forEach(message -> (isFirst ? first : again).add(message.getKeys()));
            if (isFirst) {
                context.setAckIndex(1);
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Lab.await("the rest again", RETRY_S, () -> again.size() >= 4);
        lab.say("at once", first);
        lab.say("again", new TreeSet<>(again));
    }

    /** A listener in order. */
    private static void order(Lab lab, Way way) throws Exception {
        String topic = lab.createTopic(way.name("Order"), 1);
        DefaultMQProducer producer = lab.producer(way.name("Order"));
        for (int i = 0; i < 10; i++) {
            producer.send(message(topic, "t", "m" + i), new MessageQueue(topic, "broker-a", 0));
        }
        List<String> heard = new ArrayList<>();
        DefaultMQPushConsumer consumer = way.consumer(lab, "Order", topic, "order", -1);
        consumer.subscribe(topic, "*");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            synchronized (heard) {
                messages.forEach(message -> heard.add(message.getKeys()));
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        if (way == Way.POP) {
            Lab.await("a pop", () -> lab.committed(way.name("Order"), queue) == 10);
            Thread.sleep(2000);
        } else {
            Lab.await("10 messages", () -> {
                synchronized (heard) {
                    return heard.size() == 10;
                }
            });
        }
        synchronized (heard) {
            lab.say("in order", heard);
        }
    }

    private static void filters(Lab lab, Way way) throws Exception {
        String topic = lab.createTopic(way.name("Filters"), 1);
        DefaultMQProducer producer = lab.producer(way.name("Filters"));
        Pushes.Ear tagA = way.ear(lab, "FiltersA", topic, "TagA", "tagA").start();
        Pushes.Ear tagAc = way.ear(lab, "FiltersAC", topic, "TagA || TagC", "tagAC").start();
        // "Aa" and "BB" have the same hash code: the broker's filter passes both, the client's must not.
        Pushes.Ear collide = way.ear(lab, "FiltersAa", topic, "Aa", "tagAa").start();
        Pushes.Ear sql = way.ear(lab, "FiltersSql", topic, "*", "sql");
        sql.consumer.subscribe(topic, MessageSelector.bySql("number > 8 AND TAGS IS NOT NULL"));
        sql.start();
        String[] tags = {"TagA", "TagB", "TagC", "Aa", "BB", null};
        for (int i = 0; i < 12; i++) {
            Message message = message(topic, tags[i % tags.length], "m" + (char) ('a' + i));
            message.putUserProperty("number", String.valueOf(i));
            producer.send(message, new MessageQueue(topic, i % 2 == 0 ? "broker-a" : "broker-b", 0));
        }
        Lab.await("2 by TagA", () -> tagA.keys().size() == 2);
        Lab.await("4 by TagA || TagC", () -> tagAc.keys().size() == 4);
        Lab.await("2 by Aa", () -> collide.keys().size() == 2);
        Lab.await("2 by SQL", () -> sql.keys().size() == 2);
        lab.say("TagA got", tagA.keys() + " in " + tagA.heard.size());
        lab.say("TagA || TagC got", tagAc.keys() + " in " + tagAc.heard.size());
        lab.say("Aa got", collide.keys() + " in " + collide.heard.size());
        lab.say("SQL got", sql.keys() + " in " + sql.heard.size());
    }

    /** Members that join and leave. */
    private static void members(Lab lab, Way way) throws Exception {
        String topic = lab.createTopic(way.name("Members"), 2);
        DefaultMQProducer producer = lab.producer(way.name("Members"));
        int alone = way == Way.POP ? 2 : 4;
        Pushes.Ear one = way.ear(lab, "Members", topic, "*", "c1").start();
        Lab.await("all queues", () -> way.assigned(one.consumer, topic).size() == alone);
        lab.say("alone", Lab.queues(way.assigned(one.consumer, topic)));
        send(producer, topic, "a");
        Lab.await("round a", () -> one.keys().size() == 8);
        Pushes.Ear two = way.ear(lab, "Members", topic, "*", "c2").start();
        Lab.await("shares", () -> way.assigned(one.consumer, topic).size() == 2 && way.assigned(two.consumer, topic).size() == 2);
        lab.say("first of two", Lab.queues(way.assigned(one.consumer, topic)));
        lab.say("second of two", Lab.queues(way.assigned(two.consumer, topic)));
        send(producer, topic, "b");
        Lab.await("round b", () -> union(one.keys(), two.keys()).size() == 16);
        one.consumer.shutdown();
        Lab.await("all queues", () -> way.assigned(two.consumer, topic).size() == alone);
        lab.say("left alone", Lab.queues(way.assigned(two.consumer, topic)));
        send(producer, topic, "c");
        Lab.await("round c", RETRY_S, () -> union(one.keys(), two.keys()).size() == 24);
        lab.say("all rounds received", union(one.keys(), two.keys()).size());
    }

    private static void send(DefaultMQProducer producer, String topic, String round) throws Exception {
        for (int i = 0; i < 8; i++) {
            producer.send(message(topic, "t", round + i), new MessageQueue(topic, i % 2 == 0 ? "broker-a" : "broker-b", i / 2 % 2));
        }
    }

    private static Set<String> union(Set<String> one, Set<String> other) {
        Set<String> all = new TreeSet<>(one);
        all.addAll(other);
        return all;
    }

    /** A member that is killed: nothing is lost, what it had comes again. */
    private static void dying(Lab lab, Way way) throws Exception {
        String topic = lab.createTopic(way.name("Dying"), 2);
        DefaultMQProducer producer = lab.producer(way.name("Dying"));
        Pushes.Ear survivor = way.ear(lab, "Dying", topic, "*", "c1").start();
        int all = way == Way.POP ? 2 : 4;
        Lab.await("all queues", () -> way.assigned(survivor.consumer, topic).size() == all);
        Process doomed = Pushes.otherJvm(lab.namesrv, "consume", topic, lab.group(way.name("Dying")), "*", "c2",
            way == Way.POP ? "pop" : "plain");
        Set<String> heardByDoomed = new ConcurrentSkipListSet<>();
        Thread ear = Pushes.hear(doomed, heardByDoomed);
        for (int i = 0; heardByDoomed.isEmpty(); i++) {
            // Some of what two members share, or pop, comes to the second one.
            producer.send(message(topic, "t", "early" + i), new MessageQueue(topic, i % 2 == 0 ? "broker-a" : "broker-b", i / 2 % 2));
            Thread.sleep(100);
        }
        doomed.destroyForcibly();
        doomed.waitFor();
        ear.join();
        Lab.await("all queues", () -> way.assigned(survivor.consumer, topic).size() == all);
        lab.say("after the death", Lab.queues(way.assigned(survivor.consumer, topic)));
        send(producer, topic, "b");
        Lab.await("round b", RETRY_S, () -> {
            Set<String> keys = survivor.keys();
            keys.removeIf(key -> !key.startsWith("b"));
            return keys.size() == 8;
        });
        long sent = lab.total(topic);
        Lab.await("all by either", RETRY_S, () -> union(survivor.keys(), heardByDoomed).size() == sent);
        lab.say("received by either", "all");
    }

    /** Shares of three members of which each pops from its own queues and those of the next. */
    private static void shares(Lab lab) throws Exception {
        String topic = lab.createTopic("PopShares", 3);
        List<Pushes.Ear> ears = new ArrayList<>();
        for (int i = 1; i <= 3; i++) {
            Pushes.Ear ear = new Pushes.Ear(Way.POP.consumer(lab, "Shares", topic, "c" + i, 1), topic, "*");
            ears.add(ear.start());
        }
        for (int i = 0; i < 3; i++) {
            Pushes.Ear ear = ears.get(i);
            Lab.await("a share", () -> {
                Lab.refresh(ear.consumer);
                return Five.popped(ear.consumer, topic).size() == 4;
            });
            lab.say("share of " + (i + 1), Lab.queues(Five.popped(ear.consumer, topic)));
        }
        DefaultMQProducer producer = lab.producer("PopShares");
        for (int i = 0; i < 12; i++) {
            producer.send(message(topic, "t", "m" + (char) ('a' + i)), new MessageQueue(topic, i % 2 == 0 ? "broker-a" : "broker-b", i / 2 % 3));
        }
        Lab.await("12 messages", () -> {
            Set<String> keys = new TreeSet<>();
            ears.forEach(ear -> keys.addAll(ear.keys()));
            return keys.size() == 12;
        });
        lab.say("received", "12");
    }

    private static Message timed(String topic, String key, String property, long value) {
        Message message = message(topic, "t", key);
        MessageAccessor.putProperty(message, property, String.valueOf(value));
        return message;
    }

    private static void timers(Lab lab, Way way) throws Exception {
        String topic = lab.createTopic(way.name("Timers"), 1);
        DefaultMQProducer producer = lab.producer(way.name("Timers"));
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        Pushes.Ear ear = way.ear(lab, "Timers", topic, "*", "timers").start();
        long now = System.currentTimeMillis();
        Map<String, Long> delays = new TreeMap<>(Map.of("at", 5000L, "ms", 1500L, "past", 0L, "sec", 3000L));
        // They are due 1.5 s apart, so that a slow send does not change their order.
        producer.send(timed(topic, "past", "TIMER_DELIVER_MS", now - 5000), queue);
        producer.send(timed(topic, "sec", "TIMER_DELAY_SEC", 3), queue);
        producer.send(timed(topic, "ms", "TIMER_DELAY_MS", 1500), queue);
        producer.send(timed(topic, "at", "TIMER_DELIVER_MS", now + 5000), queue);
        lab.sayFailure("in four days", () -> producer.send(timed(topic, "far", "TIMER_DELAY_SEC", 4 * 86_400), queue).getSendStatus());
        Lab.await("4 messages", () -> ear.keys().size() == 4);
        for (MessageExt message : Lab.byKey(ear.heard)) {
            long waited = message.getStoreTimestamp() - now;
            long delay = delays.get(message.getKeys());
            lab.say(message.getKeys() + " came in time", waited >= delay - 1000 && waited < delay + 5000);
            lab.say("got", told(lab, message));
        }
    }

    private static void recall(Lab lab, Way way) throws Exception {
        String topic = lab.createTopic(way.name("Recall"), 1);
        DefaultMQProducer producer = lab.producer(way.name("Recall"));
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        Pushes.Ear ear = way.ear(lab, "Recall", topic, "*", "recall").start();
        SendResult gone = producer.send(timed(topic, "gone", "TIMER_DELAY_SEC", 6), queue);
        producer.send(timed(topic, "stays", "TIMER_DELAY_SEC", 6), queue);
        SendResult plain = producer.send(message(topic, "t", "plain"), queue);
        String handle = Five.recallHandle(gone);
        lab.say("handle", new String(Base64.getUrlDecoder().decode(handle)).replace(gone.getMsgId(), "ID"));
        lab.say("handle without a timer", Five.recallHandle(plain));
        lab.say("recalled", String.valueOf(Five.recall(producer, topic, handle)).replace(gone.getMsgId(), "ID"));
        lab.sayFailure("twice", () -> String.valueOf(Five.recall(producer, topic, handle)).replace(gone.getMsgId(), "ID"));
        lab.sayFailure("no handle", () -> Five.recall(producer, topic, "nonsense"));
        Lab.await("the other one", () -> ear.keys().contains("stays"));
        Thread.sleep(2000);
        lab.say("received", ear.keys());
        lab.sayFailure("too late", () -> Five.recall(producer, topic, handle));
    }
}
