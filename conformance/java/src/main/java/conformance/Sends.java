package conformance;

import static conformance.Lab.message;
import static conformance.Lab.queue;
import static conformance.Lab.tally;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageId;
import org.apache.rocketmq.common.message.MessageQueue;

/** Every way to send, and what comes back to the sender and to a reader. */
final class Sends {
    private static final int ROUND = 16;

    private Sends() {
    }

    static void sync(Lab lab) throws Exception {
        String topic = lab.createTopic("Sync", 4);
        DefaultMQProducer producer = lab.producer("Sync");
        lab.say("publish queues", Lab.queues(producer.fetchPublishMessageQueues(topic)));
        List<SendResult> results = new ArrayList<>();
        for (int i = 0; i < ROUND; i++) {
            results.add(producer.send(message(topic, "round", "r" + i)));
        }
        sayResults(lab, results);
        DefaultMQProducer vip = lab.producer("Vip");
        vip.setVipChannelEnabled(true);
        lab.say("vip status", vip.send(message(topic, "vip", "vip"), new MessageQueue(topic, "broker-b", 0)).getSendStatus());

        String directed = lab.createTopic("Directed", 4);
        Message full = message(directed, "TagA", "k1 k2");
        full.setFlag(5);
        full.putUserProperty("colour", "red");
        full.putUserProperty("größe", "ü 中");
        full.setWaitStoreMsgOK(false);
        full.setBuyerId("buyer");
        Message large = new Message(directed, "large", "k3", new byte[8192]);
        Message plain = new Message(directed, "no tags, no keys".getBytes(StandardCharsets.UTF_8));
        sayPlace(lab, "to a queue", producer.send(full, new MessageQueue(directed, "broker-a", 1)));
        sayPlace(lab, "to a queue again", producer.send(large, new MessageQueue(directed, "broker-a", 1)));
        sayPlace(lab, "by selector", producer.send(plain, (queues, m, index) -> queues.get((Integer) index), 6));
        for (MessageExt message : lab.stored(directed, 3)) {
            lab.say("stored at " + message.getBrokerName() + ":" + message.getQueueId() + "@" + message.getQueueOffset(),
                lab.describe(message));
        }
        producer.shutdown();
        lab.sayFailure("after shutdown", () -> producer.send(message(topic, "t", "k")).getSendStatus());
    }

    private static void sayPlace(Lab lab, String key, SendResult result) {
        lab.say(key, result.getSendStatus() + " " + queue(result.getMessageQueue()) + "@" + result.getQueueOffset());
    }

    private static void sayResults(Lab lab, List<SendResult> results) throws Exception {
        List<Object> status = new ArrayList<>();
        List<Object> places = new ArrayList<>();
        List<Object> ids = new ArrayList<>();
        List<Object> rest = new ArrayList<>();
        for (SendResult result : results) {
            status.add(result.getSendStatus());
            places.add(queue(result.getMessageQueue()) + "@" + result.getQueueOffset());
            MessageId offsetId = MessageDecoder.decodeMessageId(result.getOffsetMsgId());
            String master = lab.masters().get(result.getMessageQueue().getBrokerName());
            ids.add("offsetIdAtMaster=" + ("/" + master).equals(offsetId.getAddress().toString()));
            rest.add("region=" + result.getRegionId() + " traceOn=" + result.isTraceOn()
                + " transactionId=" + result.getTransactionId());
        }
        lab.say("status", tally(status));
        lab.say("places", tally(places));
        lab.say("ids", tally(ids));
        lab.say("results", tally(rest));
    }

    static void errors(Lab lab) throws Exception {
        String topic = lab.createTopic("Errors", 1);
        DefaultMQProducer producer = lab.producer("Errors");
        lab.sayFailure("illegal topic", () -> producer.send(message("no/slash", "t", "k")));
        lab.sayFailure("forbidden topic", () -> producer.send(message("SCHEDULE_TOPIC_XXXX", "t", "k")));
        lab.sayFailure("empty body", () -> producer.send(new Message(topic, new byte[0])));
        lab.sayFailure("body over 4 MiB", () -> producer.send(new Message(topic, new byte[4 * 1024 * 1024 + 1])));
        lab.sayFailure("properties over 32767 bytes", () -> {
            Message wide = message(topic, "t", "k");
            wide.putUserProperty("wide", new String(new char[32767]).replace('\0', 'w'));
            return producer.send(wide, new MessageQueue(topic, "broker-a", 0)).getSendStatus();
        });
        lab.say("status", producer.send(message(topic, "t", "k")).getSendStatus());
        MessageQueue known = new MessageQueue(topic, "broker-a", 0);
        lab.createTopic("Errors", 1, 4);
        lab.sayFailure("queue that became read-only", () -> producer.send(message(topic, "t", "k"), known).getSendStatus());
        lab.createTopic("Errors", 1, 2);
        lab.sayFailure("pull of a write-only queue", () -> lab.reader().pull(known, "*", 0, 32));
        lab.sayFailure("no broker of that name", () ->
            producer.send(message(topic, "t", "k"), new MessageQueue(topic, "broker-z", 0)));
        lab.sayFailure("queue id beyond the topic", () ->
            producer.send(message(lab.createTopic("Errors", 1), "t", "k"), new MessageQueue(topic, "broker-a", 9)));
        lab.sayFailure("subscribe queues of an unknown topic", () ->
            lab.reader().fetchSubscribeMessageQueues(lab.topic("Unknown")));
        lab.sayFailure("pull of an unknown topic", () ->
            lab.reader().pull(new MessageQueue(lab.topic("Unknown"), "broker-a", 0), "*", 0, 32));
        lab.sayFailure("pull beyond the queues", () ->
            lab.reader().pull(new MessageQueue(topic, "broker-a", 9), "*", 0, 32));
    }

    static void async(Lab lab) throws Exception {
        String topic = lab.createTopic("Async", 4);
        DefaultMQProducer producer = lab.producer("Async");
        ConcurrentLinkedQueue<SendResult> results = new ConcurrentLinkedQueue<>();
        ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
        CountDownLatch done = new CountDownLatch(ROUND + 1);
        SendCallback callback = new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                results.add(result);
                done.countDown();
            }

            @Override
            public void onException(Throwable e) {
                failures.add(e.getClass().getSimpleName());
                done.countDown();
            }
        };
        for (int i = 0; i < ROUND; i++) {
            // Sent by hand to each queue in turn: the client's own choice is made on racing threads.
            producer.send(message(topic, "async", "a" + i),
                new MessageQueue(topic, i % 2 == 0 ? "broker-a" : "broker-b", i / 2 % 4), callback);
        }
        producer.send(new Message(topic, new byte[0]), callback);
        lab.say("all called back", done.await(20, TimeUnit.SECONDS));
        sayResults(lab, new ArrayList<>(results));
        lab.say("failures", tally(failures));
        lab.say("stored", Lab.keys(lab.stored(topic, ROUND)));
    }

    static void oneway(Lab lab) throws Exception {
        String topic = lab.createTopic("Oneway", 4);
        DefaultMQProducer producer = lab.producer("Oneway");
        for (int i = 0; i < ROUND; i++) {
            producer.sendOneway(message(topic, "oneway", "o" + i));
        }
        producer.sendOneway(message(topic, "oneway", "p"), new MessageQueue(topic, "broker-b", 3));
        List<MessageExt> stored = lab.stored(topic, ROUND + 1);
        List<Object> places = new ArrayList<>();
        stored.forEach(message -> places.add(message.getBrokerName() + ":" + message.getQueueId()));
        lab.say("places", tally(places));
        lab.say("stored", Lab.keys(stored));
    }

    static void batch(Lab lab) throws Exception {
        String topic = lab.createTopic("Batch", 2);
        DefaultMQProducer producer = lab.producer("Batch");
        MessageQueue queue = new MessageQueue(topic, "broker-a", 1);
        for (int round = 0; round < 2; round++) {
            List<Message> messages = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                Message message = message(topic, i % 2 == 0 ? "even" : "odd", "b" + round + i);
                message.putUserProperty("index", String.valueOf(i));
                message.setFlag(i);
                messages.add(message);
            }
            SendResult result = producer.send(messages, queue);
            lab.say("batch " + round, result.getSendStatus() + " " + queue(result.getMessageQueue()) + "@"
                + result.getQueueOffset() + " ids=" + result.getMsgId().split(",").length
                + " offsetIds=" + result.getOffsetMsgId().split(",").length);
        }
        for (MessageExt message : lab.stored(topic, 10)) {
            lab.say("stored at " + message.getBrokerName() + ":" + message.getQueueId() + "@" + message.getQueueOffset(),
                lab.describe(message));
        }
        lab.say("batch by the client's choice", producer.send(Arrays.asList(
            message(topic, "t", "c1"), message(topic, "t", "c2"))).getSendStatus());
        List<Object> choice = new ArrayList<>();
        for (MessageExt message : lab.stored(topic, 12)) {
            choice.add(message.getKeys().startsWith("c") ? message.getBrokerName() + ":" + message.getQueueId() : "earlier");
        }
        lab.say("queues of that batch", new java.util.HashSet<>(choice).size() - 1);
        lab.sayFailure("batch of two topics", () -> producer.send(Arrays.asList(
            message(topic, "t", "x"), message("Other", "t", "y"))));
        lab.sayFailure("batch with a delay", () -> {
            Message late = message(topic, "t", "late");
            late.setDelayTimeLevel(1);
            return producer.send(Collections.singletonList(late));
        });
        lab.sayFailure("empty batch", () -> producer.send(Collections.emptyList()));
    }

    static void autoTopic(Lab lab) throws Exception {
        DefaultMQProducer producer = lab.settled("Auto");
        String four = lab.topic("AutoFour");
        List<SendResult> results = new ArrayList<>();
        for (int i = 0; i < ROUND; i++) {
            results.add(producer.send(message(four, "auto", "a" + i)));
        }
        sayResults(lab, results);
        lab.say("stored", lab.stored(four, ROUND).size()); // by then both brokers have told of the topic
        lab.say("queues", Lab.queues(lab.queuesOf(four)));
        producer.setDefaultTopicQueueNums(2);
        String two = lab.topic("AutoTwo");
        for (int i = 0; i < ROUND; i++) {
            // The default topic's route has up to 8 queues a master; the producer asks for 2 and uses 2 ids of them.
            producer.send(message(two, "auto", "b" + i));
        }
        lab.say("stored", lab.stored(two, ROUND).size());
        lab.say("queues with defaultTopicQueueNums=2", Lab.queues(lab.queuesOf(two)));
        producer.setDefaultTopicQueueNums(64);
        String many = lab.topic("AutoMany");
        for (int i = 0; i < ROUND; i++) {
            producer.send(message(many, "auto", "c" + i));
        }
        lab.say("stored", lab.stored(many, ROUND).size());
        lab.say("queues with defaultTopicQueueNums=64", Lab.queues(lab.queuesOf(many)));
    }
}
