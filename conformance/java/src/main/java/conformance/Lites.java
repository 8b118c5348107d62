package conformance;

import static conformance.Lab.message;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** The lite pull consumer, which polls: with queues shared out, and with queues it names. */
final class Lites {
    private Lites() {
    }

    private static DefaultLitePullConsumer consumer(Lab lab, String group, String instance) {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(lab.group(group));
        lab.name(consumer, instance);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPullBatchSize(4);
        consumer.setHeartbeatBrokerInterval(1000);
        lab.atEnd(consumer::shutdown);
        return consumer;
    }

    /** Polls until {@code count} messages have come, by queue. */
    private static Map<String, List<String>> poll(DefaultLitePullConsumer consumer, int count) throws Exception {
        Map<String, List<String>> polled = new TreeMap<>();
        int[] got = {0};
        Lab.await(count + " polled", () -> {
            for (MessageExt message : consumer.poll(200)) {
                String queue = message.getBrokerName() + ":" + message.getQueueId();
                polled.computeIfAbsent(queue, name -> new ArrayList<>()).add(message.getKeys());
                got[0]++;
            }
            return got[0] >= count;
        });
        return polled;
    }

    private static void send(DefaultMQProducer producer, String topic, String round) throws Exception {
        for (int i = 0; i < 12; i++) {
            producer.send(message(topic, i % 3 == 0 ? "third" : "other", round + i),
                new MessageQueue(topic, i % 2 == 0 ? "broker-a" : "broker-b", i / 2 % 2));
        }
    }

    static void liteSubscribe(Lab lab) throws Exception {
        String topic = lab.createTopic("Lite", 2);
        DefaultMQProducer producer = lab.producer("Lite");
        send(producer, topic, "a");
        DefaultLitePullConsumer consumer = consumer(lab, "Lite", "lite-1");
        consumer.subscribe(topic, "*");
        consumer.setAutoCommit(false);
        consumer.start();
        poll(consumer, 12).forEach((queue, keys) -> lab.say("polled from " + queue, keys));
        lab.say("polled when there is nothing", consumer.poll(100).size());
        consumer.commitSync();
        Set<MessageQueue> queues = new TreeSet<>(consumer.fetchMessageQueues(topic));
        lab.say("queues", Lab.queues(queues));
        consumer.commit(queues, true); // at once, not with the next round
        for (MessageQueue queue : queues) {
            Lab.await("commit", () -> lab.committed("Lite", queue) == 3);
            lab.say("committed of " + Lab.queue(queue), consumer.committed(queue));
        }
        DefaultLitePullConsumer second = consumer(lab, "Lite", "lite-2");
        second.subscribe(topic, "*");
        second.setAutoCommit(false);
        second.start();
        Lab.await("halves", () -> share(consumer).size() == 2 && share(second).size() == 2);
        lab.say("share of the first", Lab.queues(share(consumer)));
        lab.say("share of the second", Lab.queues(share(second)));
        send(producer, topic, "b");
        poll(second, 6).forEach((queue, keys) -> lab.say("second polled from " + queue, keys));
        second.commitSync();
        new Thread(second::shutdown).start(); // of a 5.5.0 client this takes seconds, after it has said goodbye
        Lab.await("all again", () -> share(consumer).size() == 4);
        poll(consumer, 6).forEach((queue, keys) -> lab.say("first polled from " + queue, keys));

        DefaultLitePullConsumer tagged = consumer(lab, "LiteTagged", "lite-tagged");
        tagged.subscribe(topic, "third");
        tagged.start();
        poll(tagged, 8).forEach((queue, keys) -> lab.say("tagged polled from " + queue, keys));
        DefaultLitePullConsumer by = consumer(lab, "LiteSql", "lite-sql");
        by.subscribe(topic, MessageSelector.bySql("KEYS = 'b4' OR TAGS = 'third'"));
        by.start();
        poll(by, 9).forEach((queue, keys) -> lab.say("by SQL polled from " + queue, keys));
    }

    private static Collection<MessageQueue> share(DefaultLitePullConsumer consumer) throws Exception {
        return consumer.assignment();
    }

    static void liteAssign(Lab lab) throws Exception {
        String topic = lab.createTopic("LiteAssign", 2);
        DefaultMQProducer producer = lab.producer("LiteAssign");
        DefaultLitePullConsumer consumer = consumer(lab, "LiteAssign", "assigned");
        consumer.setAutoCommit(false);
        consumer.start();
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        MessageQueue other = new MessageQueue(topic, "broker-b", 1);
        consumer.assign(Arrays.asList(queue, other));
        long before = System.currentTimeMillis();
        send(producer, topic, "a");
        poll(consumer, 6).forEach((from, keys) -> lab.say("polled from " + from, keys));
        consumer.seek(queue, 1);
        lab.say("after seek 1", poll(consumer, 2));
        consumer.seekToBegin(queue);
        lab.say("after seekToBegin", poll(consumer, 3));
        consumer.seek(queue, 0);
        consumer.seekToEnd(queue);
        lab.say("after seekToEnd", consumer.poll(500).size());
        lab.sayFailure("seek beyond the end", () -> {
            consumer.seek(queue, 9);
            return "sought";
        });
        lab.sayFailure("seek elsewhere", () -> {
            consumer.seek(new MessageQueue(topic, "broker-a", 1), 0);
            return "sought";
        });
        lab.say("offset for a time before, after", consumer.offsetForTimestamp(queue, before - 60_000) + " "
            + consumer.offsetForTimestamp(queue, before + 3_600_000));
        consumer.pause(Collections.singletonList(queue));
        Thread.sleep(300); // a pull may be under way
        send(producer, topic, "b");
        // A pull that the broker held at the time of the pause brings what comes first.
        Set<String> polled = new TreeSet<>();
        Lab.await("the other's", () -> polled.addAll(Lab.keys(consumer.poll(500))) && polled.containsAll(Set.of("b3", "b7", "b11")));
        polled.addAll(Lab.keys(consumer.poll(500)));
        lab.say("not all while one is paused", polled.size() < 6);
        consumer.resume(Collections.singletonList(queue));
        poll(consumer, 6 - polled.size()).values().forEach(polled::addAll);
        lab.say("after resume", polled);
        lab.say("committed before", consumer.committed(queue));
        Map<MessageQueue, Long> offsets = new TreeMap<>();
        offsets.put(queue, 4L);
        offsets.put(other, 5L);
        consumer.commitSync(offsets, true);
        Lab.await("commit", () -> lab.committed("LiteAssign", queue) == 4 && lab.committed("LiteAssign", other) == 5);
        lab.say("committed", consumer.committed(queue) + " " + consumer.committed(other));
        lab.sayFailure("subscribe after assign", () -> {
            consumer.subscribe(topic, "*");
            return "subscribed";
        });
        consumer.shutdown();
        DefaultLitePullConsumer again = consumer(lab, "LiteAssign", "assigned-again");
        again.start();
        again.assign(Arrays.asList(queue, other));
        poll(again, 3).forEach((from, keys) -> lab.say("after restart polled from " + from, keys));
        Lab.await("its own commit", () -> // with a poll, when it is due
            again.poll(100).isEmpty() && lab.committed("LiteAssign", queue) == 6 && lab.committed("LiteAssign", other) == 6);
        lab.say("committed by itself", lab.committed("LiteAssign", queue) + " " + lab.committed("LiteAssign", other));
    }
}
