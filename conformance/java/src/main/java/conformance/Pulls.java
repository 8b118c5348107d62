package conformance;

import static conformance.Lab.message;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.store.ReadOffsetType;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Pulling queue by queue with the old pull consumer, and everything about offsets. */
final class Pulls {
    private Pulls() {
    }

    private static String result(PullResult result) {
        List<String> keys = new ArrayList<>();
        if (result.getMsgFoundList() != null) {
            result.getMsgFoundList().forEach(message -> keys.add(message.getKeys()));
        }
        return result.getPullStatus() + " next=" + result.getNextBeginOffset() + " min=" + result.getMinOffset()
            + " max=" + result.getMaxOffset() + " keys=" + keys;
    }

    static void pull(Lab lab) throws Exception {
        String topic = lab.createTopic("Pull", 2);
        DefaultMQProducer producer = lab.producer("Pull");
        DefaultMQPullConsumer consumer = lab.pullConsumer("Pull");
        lab.say("queues", Lab.queues(consumer.fetchSubscribeMessageQueues(topic)));
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        lab.say("empty queue", result(consumer.pull(queue, "*", 0, 32)));
        lab.say("beyond an empty queue", result(consumer.pull(queue, "*", 7, 32)));
        for (int i = 0; i < 10; i++) {
            producer.send(message(topic, i % 2 == 0 ? "even" : "odd", "m" + i), queue);
        }
        Lab.await("10 messages", () -> consumer.maxOffset(queue) == 10);
        lab.say("all", result(consumer.pull(queue, "*", 0, 32)));
        lab.say("first four", result(consumer.pull(queue, "*", 0, 4)));
        lab.say("from six", result(consumer.pull(queue, "*", 6, 32)));
        lab.say("null expression", result(consumer.pull(queue, (String) null, 8, 32)));
        lab.say("odd only", result(consumer.pull(queue, "odd", 0, 32)));
        lab.say("odd or even, two", result(consumer.pull(queue, "odd || even", 3, 2)));
        lab.say("no such tag", result(consumer.pull(queue, "none", 0, 32)));
        lab.say("at the end", result(consumer.pull(queue, "*", 10, 32)));
        lab.say("one beyond the end", result(consumer.pull(queue, "*", 11, 32)));
        lab.sayFailure("negative offset", () -> result(consumer.pull(queue, "*", -1, 32)));
        for (MessageExt message : consumer.pull(queue, "*", 0, 2).getMsgFoundList()) {
            lab.say("pulled", lab.describe(message));
        }
        byte[] big = new byte[100_000];
        java.util.Arrays.fill(big, (byte) 'x');
        MessageQueue wide = new MessageQueue(topic, "broker-b", 1);
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        for (int i = 0; i < 6; i++) {
            producer.send(new org.apache.rocketmq.common.message.Message(topic, "big", "w" + i, big), wide);
        }
        Lab.await("6 big ones", () -> consumer.maxOffset(wide) == 6);
        // The broker stops a pull at 256 KiB of messages in memory.
        lab.say("big ones", result(consumer.pull(wide, "*", 0, 32)));
    }

    static void offsets(Lab lab) throws Exception {
        String topic = lab.createTopic("Offsets", 2);
        DefaultMQProducer producer = lab.producer("Offsets");
        DefaultMQPullConsumer consumer = lab.pullConsumer("Offsets");
        MessageQueue queue = new MessageQueue(topic, "broker-b", 1);
        lab.say("empty: min max", consumer.minOffset(queue) + " " + consumer.maxOffset(queue));
        lab.say("empty: first boot", consumer.fetchConsumeOffset(queue, true));
        lab.say("empty: search past, future", consumer.searchOffset(queue, 0) + " "
            + consumer.searchOffset(queue, System.currentTimeMillis() + 3_600_000));
        lab.sayFailure("empty: earliest store time", () -> consumer.earliestMsgStoreTime(queue));
        for (int i = 0; i < 5; i++) {
            producer.send(message(topic, "t", "m" + i), queue);
            Thread.sleep(20); // two messages of one millisecond could not be told apart by time
        }
        Lab.await("5 messages", () -> consumer.maxOffset(queue) == 5);
        lab.say("min max", consumer.minOffset(queue) + " " + consumer.maxOffset(queue));
        List<MessageExt> stored = consumer.pull(queue, "*", 0, 32).getMsgFoundList();
        List<Long> exact = new ArrayList<>();
        List<Long> after = new ArrayList<>();
        for (MessageExt message : stored) {
            exact.add(consumer.searchOffset(queue, message.getStoreTimestamp()));
            after.add(consumer.searchOffset(queue, message.getStoreTimestamp() + 1));
        }
        lab.say("search at the store times", exact);
        lab.say("search just after them", after);
        lab.say("search past, future", consumer.searchOffset(queue, 0) + " "
            + consumer.searchOffset(queue, System.currentTimeMillis() + 3_600_000));
        lab.say("earliest store time is the first message's",
            consumer.earliestMsgStoreTime(queue) == stored.get(0).getStoreTimestamp());
        lab.say("offset of another queue", consumer.maxOffset(new MessageQueue(topic, "broker-a", 0)));
        lab.sayFailure("max offset of a queue that is not there", () ->
            consumer.maxOffset(new MessageQueue(topic, "broker-a", 17)));

        lab.say("not committed yet", consumer.fetchConsumeOffset(queue, true));
        for (long offset : new long[] {3, 1, 5}) {
            consumer.updateConsumeOffset(queue, offset);
            consumer.getDefaultMQPullConsumerImpl().getOffsetStore().persist(queue);
            // The commit is one-way: ask until it has arrived.
            Lab.await("commit of " + offset, () -> consumer.fetchConsumeOffset(queue, true) == offset);
            lab.say("committed", consumer.fetchConsumeOffset(queue, true));
        }
        lab.say("in memory", consumer.getDefaultMQPullConsumerImpl().getOffsetStore()
            .readOffset(queue, ReadOffsetType.READ_FROM_MEMORY));
        DefaultMQPullConsumer other = lab.pullConsumer("OffsetsOther");
        lab.say("another group", other.fetchConsumeOffset(queue, true));
    }

    static void block(Lab lab) throws Exception {
        String topic = lab.createTopic("Block", 1);
        DefaultMQProducer producer = lab.producer("Block");
        DefaultMQPullConsumer consumer = lab.pullConsumer("Block");
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        producer.send(message(topic, "t", "m0"), queue);
        Lab.await("a message", () -> consumer.maxOffset(queue) == 1);
        lab.say("message there", result(consumer.pullBlockIfNotFound(queue, "*", 0, 32)));

        Thread sender = new Thread(() -> {
            try {
                Thread.sleep(500);
                producer.send(message(topic, "t", "m1"), queue);
            } catch (Exception e) {
                e.printStackTrace();
            }
        });
        long start = System.nanoTime();
        sender.start();
        lab.say("message on its way", result(consumer.pullBlockIfNotFound(queue, "*", 1, 32)));
        long waited = (System.nanoTime() - start) / 1_000_000;
        lab.say("woken by it", waited >= 400 && waited < 4000);

        // The broker looks at held pulls every 5 s, so a hold of 2 s ends after 2 to 7.
        consumer.setBrokerSuspendMaxTimeMillis(2000);
        start = System.nanoTime();
        lab.say("nothing comes", result(consumer.pullBlockIfNotFound(queue, "*", 2, 32)));
        waited = (System.nanoTime() - start) / 1_000_000;
        lab.say("held for its time", waited >= 1900 && waited < 9000);
    }
}
