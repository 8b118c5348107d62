package conformance;

import static conformance.Lab.message;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Bodies and properties at the edges of what is allowed. */
final class Bodies {
    private Bodies() {
    }

    static void compressed(Lab lab) throws Exception {
        String topic = lab.createTopic("Compressed", 1);
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        Pushes.Ear ear = new Pushes.Ear(lab.pushConsumer("Compressed", "expanding"), topic, "*").start();
        DefaultMQProducer producer = lab.producer("Compressed");
        Map<String, byte[]> bodies = new HashMap<>();
        byte[] noise = new byte[20_000];
        new Random(1).nextBytes(noise);
        bodies.put("short", new byte[4095]);
        bodies.put("limit", new byte[4096]);
        bodies.put("zeros", new byte[100_000]);
        bodies.put("noise", noise);
        bodies.put("text", "Größe 中 ".repeat(2000).getBytes(StandardCharsets.UTF_8));
        for (String type : new String[] {"ZLIB", "LZ4", "ZSTD"}) {
            if (compressWith(producer, type)) {
                for (Map.Entry<String, byte[]> body : bodies.entrySet()) {
                    producer.send(new Message(topic, "t", body.getKey() + "-" + type, body.getValue()), queue);
                }
            }
        }
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        producer.send(new Message(topic, "t", "noise-plain", noise), queue);
        int sent = (int) producer.send(new Message(topic, "t", "zeros-plain", new byte[100_000]), queue).getQueueOffset() + 1;
        Lab.await("all", () -> ear.keys().size() == sent);
        for (MessageExt message : Lab.byKey(ear.heard)) {
            message.getProperties().remove("MAX_OFFSET");
            byte[] body = bodies.get(message.getKeys().split("-")[0]);
            lab.say(message.getKeys(), "whole=" + Arrays.equals(body, message.getBody()) + " " + lab.describe(message));
        }
    }

    /** Whether this version of the client can; 4.9.7 compresses with zlib only. */
    private static boolean compressWith(DefaultMQProducer producer, String type) throws Exception {
        for (var method : DefaultMQProducer.class.getMethods()) {
            if (method.getName().equals("setCompressType")) {
                for (Object constant : method.getParameterTypes()[0].getEnumConstants()) {
                    if (constant.toString().equals(type)) {
                        method.invoke(producer, constant);
                        return true;
                    }
                }
            }
        }
        return type.equals("ZLIB");
    }

    static void properties(Lab lab) throws Exception {
        String topic = lab.createTopic("Properties", 1);
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        DefaultMQProducer producer = lab.producer("Properties");
        int fits = 32_000;
        int tooWide = 32_768;
        while (tooWide - fits > 1) {
            int width = (fits + tooWide) / 2;
            try {
                producer.send(wide(topic, "w".repeat(width)), queue);
                fits = width;
            } catch (MQBrokerException e) {
                tooWide = width;
            }
        }
        // A machine's address family decides the length of the ids it makes.
        int widest = fits;
        lab.say("the widest property, with the id", widest + MessageClientIDSetter.createUniqID().length());
        for (int width : new int[] {widest, widest + 1, 40_000, 70_000}) {
            lab.sayFailure(width > widest + 1 ? "width " + width : "fits by " + (widest - width), () ->
                producer.send(wide(topic, "w".repeat(width)), queue).getSendStatus());
        }
        lab.sayFailure("umlauts count twice", () -> producer.send(wide(topic, "ü".repeat(widest / 2 + 1)), queue).getSendStatus());
        lab.sayFailure("and fit", () -> producer.send(wide(topic, "ü".repeat(widest / 2)), queue).getSendStatus());
        Message many = message(topic, "t", "many");
        for (int i = 0; i < 500; i++) {
            many.putUserProperty("name" + i, "value " + i);
        }
        lab.say("many", producer.send(many, queue).getSendStatus());
        Set<String> stored = new TreeSet<>();
        for (MessageExt message : lab.all(queue)) {
            int rest = String.valueOf(message.getUserProperty("wide")).length() - widest;
            stored.add(message.getKeys() + " " + message.getProperties().size() + (rest == 0 ? " widest" : ""));
        }
        lab.say("stored", stored);
    }

    private static Message wide(String topic, String value) {
        Message message = message(topic, "t", "wide");
        message.putUserProperty("wide", value);
        return message;
    }

    static void collisions(Lab lab) throws Exception {
        String topic = lab.createTopic("Collisions", 1);
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        DefaultMQProducer producer = lab.producer("Collisions");
        for (String name : new String[] {"KEYS", "TAGS", "DELAY", "WAIT", "UNIQ_KEY", "RETRY_TOPIC", "CLUSTER", "TRAN_MSG"}) {
            lab.sayFailure("user property " + name, () -> {
                message(topic, "t", "k").putUserProperty(name, "mine");
                return "accepted";
            });
        }
        lab.sayFailure("user property without a value", () -> {
            message(topic, "t", "k").putUserProperty("name", "");
            return "accepted";
        });
        // What the client's front door refuses, other clients' doors let through.
        String[][] smuggled = {
            {"REAL_TOPIC", "mine"}, {"REAL_QID", "7"}, {"RETRY_TOPIC", "mine"}, {"ORIGIN_MESSAGE_ID", "mine"}, {"CLUSTER", "mine"},
            {"MIN_OFFSET", "7"}, {"MAX_OFFSET", "7"}, {"CONSUME_START_TIME", "7"}, {"RECONSUME_TIME", "7"}, {"MSG_REGION", "mine"},
            {"TRACE_ON", "false"}, {"WAIT", "maybe"}, {"PGROUP", "mine"}, {"DELAY", "0"}, {"TRAN_MSG", "false"},
            {"INNER_NUM", "7"}, {"__SHARDINGKEY", "mine"}, {"INSTANCE_ID", "mine"}, {"MSG_TYPE", "mine"}, {"BUYER_ID", "mine"},
        };
        for (String[] property : smuggled) {
            Message message = message(topic, "t", "k-" + property[0]);
            MessageAccessor.putProperty(message, property[0], property[1]);
            lab.sayFailure("smuggled " + property[0], () -> producer.send(message, queue).getSendStatus());
        }
        Message separators = message(topic, "t", "k-separators");
        separators.putUserProperty("name\u0001with", "a separator\u0002inside");
        lab.sayFailure("separators", () -> producer.send(separators, queue).getSendStatus());
        Message spaces = message(topic, "t", " k1  k2 ");
        spaces.putUserProperty(" name ", " value ");
        lab.sayFailure("spaces", () -> producer.send(spaces, queue).getSendStatus());
        long end = lab.reader().maxOffset(queue);
        for (MessageExt message : lab.stored(topic, (int) end)) {
            lab.say("stored", lab.describe(message));
        }
    }

    static void selected(Lab lab) throws Exception {
        String topic = lab.createTopic("Selected", 4);
        DefaultMQProducer producer = lab.producer("Selected");
        for (int round = 0; round < 5; round++) {
            for (String order : new String[] {"order-1", "order-2", "order-3", "order-4", "order-5"}) {
                Message message = message(topic, "t", order + "-" + round);
                producer.send(message, new SelectMessageQueueByHash(), order);
            }
        }
        Map<String, String> places = new TreeMap<>();
        Map<String, List<String>> orders = new TreeMap<>();
        for (MessageExt message : lab.stored(topic, 25)) {
            String order = message.getKeys().substring(0, 7);
            orders.computeIfAbsent(order, key -> new ArrayList<>()).add(message.getKeys().substring(8));
            places.merge(order, message.getBrokerName() + ":" + message.getQueueId(), (one, other) ->
                one.equals(other) ? one : one + " and " + other);
        }
        lab.say("rounds of each order", orders);
        lab.say("queue of each order", places);
        lab.sayFailure("a selector that fails", () -> producer.send(message(topic, "t", "k"), (queues, m, argument) -> {
            throw new IllegalStateException("cannot choose");
        }, null));
        lab.sayFailure("a selector that chooses nothing", () ->
            producer.send(message(topic, "t", "k"), (queues, m, argument) -> null, null));
    }
}
