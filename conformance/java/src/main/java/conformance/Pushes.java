package conformance;

import static conformance.Lab.byKey;
import static conformance.Lab.message;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Push consumers: filters, order, queue shares, a death, broadcasting. */
final class Pushes {
    private Pushes() {
    }

    /** A push consumer of one topic and all it was given. */
    static final class Ear {
        final ConcurrentLinkedQueue<MessageExt> heard = new ConcurrentLinkedQueue<>();
        final DefaultMQPushConsumer consumer;

        Ear(DefaultMQPushConsumer consumer, String topic, String expression) throws Exception {
            this.consumer = consumer;
            consumer.subscribe(topic, expression);
            consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                heard.addAll(messages);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }

        Ear start() throws Exception {
            consumer.start();
            return this;
        }

        String share(String topic) {
            return Lab.queues(assigned(consumer, topic));
        }

        Set<String> keys() {
            return Lab.keys(heard);
        }
    }

    static List<MessageQueue> assigned(DefaultMQPushConsumer consumer, String topic) {
        return consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet().stream()
            .filter(queue -> queue.getTopic().equals(topic)).collect(Collectors.toList());
    }

    static void push(Lab lab) throws Exception {
        String topic = lab.createTopic("Push", 2);
        DefaultMQProducer producer = lab.producer("Push");
        Ear all = new Ear(lab.pushConsumer("PushAll", "all"), topic, "*").start();
        Ear tagA = new Ear(lab.pushConsumer("PushA", "tagA"), topic, "TagA").start();
        Ear tagAc = new Ear(lab.pushConsumer("PushAC", "tagAC"), topic, "TagA || TagC").start();
        // "Aa" and "BB" have the same hash code: the broker's filter passes both, the client's must not.
        Ear collide = new Ear(lab.pushConsumer("PushAa", "tagAa"), topic, "Aa").start();
        String[] tags = {"TagA", "TagB", "TagC", "Aa", "BB", null};
        for (int i = 0; i < 12; i++) {
            producer.send(message(topic, tags[i % tags.length], "m" + (char) ('a' + i)));
        }
        Lab.await("12 by *", () -> all.heard.size() >= 12);
        Lab.await("2 by TagA", () -> tagA.heard.size() >= 2);
        Lab.await("4 by TagA || TagC", () -> tagAc.heard.size() >= 4);
        Lab.await("2 by Aa", () -> collide.heard.size() >= 2);
        for (MessageExt message : byKey(all.heard)) {
            message.getProperties().remove("MAX_OFFSET"); // how far the queue was when this pull found it: a race
            lab.say("* got", lab.describe(message));
        }
        lab.say("TagA got", tagA.keys() + " in " + tagA.heard.size());
        lab.say("TagA || TagC got", tagAc.keys() + " in " + tagAc.heard.size());
        lab.say("Aa got", collide.keys() + " in " + collide.heard.size());

        // Nothing is committed for this group, yet "last" starts at 0: the topic is young and in memory.
        DefaultMQPushConsumer last = lab.pushConsumer("PushLast", "last");
        Ear fromLast = new Ear(last, topic, "*");
        last.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET);
        fromLast.start();
        Lab.await("12 from last", () -> fromLast.heard.size() >= 12);
        lab.say("CONSUME_FROM_LAST_OFFSET got", fromLast.keys() + " in " + fromLast.heard.size());
        lab.say("retry topic queues", Lab.queues(lab.queuesOf("%RETRY%" + lab.group("PushLast"))));

        all.consumer.shutdown();
        DefaultMQPullConsumer committed = lab.pullConsumer("PushAll");
        long sum = 0;
        for (MessageQueue queue : lab.queuesOf(topic)) {
            sum += committed.fetchConsumeOffset(queue, true);
        }
        lab.say("committed at shutdown, sum of offsets", sum);
        committed.shutdown(); // as a member of the group it would be given a share of the queues
        Ear again = new Ear(lab.pushConsumer("PushAll", "again"), topic, "*").start();
        producer.send(message(topic, "TagA", "later"));
        Lab.await("the later one", () -> !again.heard.isEmpty());
        lab.say("after restart got", again.keys());
    }

    static void orderly(Lab lab) throws Exception {
        String topic = lab.createTopic("Orderly", 2);
        DefaultMQProducer producer = lab.producer("Orderly");
        Map<String, List<String>> heard = new TreeMap<>();
        for (int part = 0; part < 2; part++) {
            for (int i = 0; i < 20; i++) {
                int wanted = i % 4;
                producer.send(message(topic, "t", "m" + part + (char) ('a' + i)),
                    (queues, m, index) -> queues.get((Integer) index), wanted);
            }
            DefaultMQPushConsumer consumer = lab.pushConsumer("Orderly", "orderly-" + part);
            consumer.subscribe(topic, "*");
            consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
            ConcurrentLinkedQueue<String> count = new ConcurrentLinkedQueue<>();
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                synchronized (heard) {
                    for (MessageExt message : messages) {
                        heard.computeIfAbsent(Lab.queue(context.getMessageQueue()), q -> new ArrayList<>())
                            .add(message.getKeys());
                        count.add(message.getKeys());
                    }
                }
                return ConsumeOrderlyStatus.SUCCESS;
            });
            consumer.start();
            Lab.await("20 in part " + part, () -> count.size() >= 20);
            // Shutting down gives the locks back, so the next consumer does not wait for their lease.
            consumer.shutdown();
        }
        heard.forEach((queue, keys) -> lab.say("order in " + queue, keys));
    }

    static void rebalance(Lab lab) throws Exception {
        String topic = lab.createTopic("Rebalance", 4);
        DefaultMQProducer producer = lab.producer("Rebalance");
        Ear one = new Ear(lab.pushConsumer("Rebalance", "c1"), topic, "*").start();
        Lab.await("one has all", () -> assigned(one.consumer, topic).size() == 8);
        lab.say("alone", one.share(topic));
        sendRound(producer, topic, "a");
        Lab.await("round a", () -> one.keys().size() == 16);

        Ear two = new Ear(lab.pushConsumer("Rebalance", "c2"), topic, "*").start();
        Lab.await("halves", () -> assigned(one.consumer, topic).size() == 4 && assigned(two.consumer, topic).size() == 4);
        lab.say("first of two", one.share(topic));
        lab.say("second of two", two.share(topic));
        sendRound(producer, topic, "b");
        Lab.await("round b", () -> union(one, two).size() == 32);
        lab.say("each received its half of round b", (round(one.keys(), "b").size() == 8) + " " + (round(two.keys(), "b").size() == 8));

        one.consumer.shutdown();
        Lab.await("two has all", () -> assigned(two.consumer, topic).size() == 8);
        lab.say("left alone", two.share(topic));
        sendRound(producer, topic, "c");
        Lab.await("round c", () -> round(two.keys(), "c").size() == 16);
        lab.say("all rounds received", union(one, two).size());
    }

    private static void sendRound(DefaultMQProducer producer, String topic, String round) throws Exception {
        for (int i = 0; i < 16; i++) {
            producer.send(message(topic, "t", round + i), new MessageQueue(topic, i % 2 == 0 ? "broker-a" : "broker-b", i / 2 % 4));
        }
    }

    private static Set<String> round(Collection<String> keys, String round) {
        return keys.stream().filter(key -> key.startsWith(round)).collect(Collectors.toCollection(TreeSet::new));
    }

    private static Set<String> union(Ear one, Ear two) {
        Set<String> keys = one.keys();
        keys.addAll(two.keys());
        return keys;
    }

    static void dying(Lab lab) throws Exception {
        String topic = lab.createTopic("Dying", 4);
        DefaultMQProducer producer = lab.producer("Dying");
        Ear survivor = new Ear(lab.pushConsumer("Dying", "c1"), topic, "*").start();
        Lab.await("all queues", () -> assigned(survivor.consumer, topic).size() == 8);
        Process doomed = otherJvm(lab.namesrv, "consume", topic, lab.group("Dying"), "*", "c2");
        Lab.await("halves", () -> assigned(survivor.consumer, topic).size() == 4);
        lab.say("beside the doomed", survivor.share(topic));
        sendRound(producer, topic, "a");
        Set<String> heardByDoomed = new TreeSet<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(doomed.getInputStream(), StandardCharsets.UTF_8));
        while (heardByDoomed.size() < 8) {
            String line = lines.readLine();
            if (line == null) {
                throw new IllegalStateException("the doomed consumer ended by itself");
            }
            if (line.startsWith("recv ")) {
                heardByDoomed.add(line.split(" ")[2]);
            }
        }
        lab.say("the doomed received", heardByDoomed);
        Lab.await("other half", () -> survivor.keys().size() >= 8);
        doomed.destroyForcibly();
        doomed.waitFor();
        long death = System.nanoTime();
        Lab.await("all queues", () -> assigned(survivor.consumer, topic).size() == 8);
        // The broker tells the survivors when the socket closes; nobody waits for the 20 s rebalance timer.
        lab.say("notified of the death, not timed", System.nanoTime() - death < 10_000_000_000L);
        lab.say("after the death", survivor.share(topic));
        sendRound(producer, topic, "b");
        Lab.await("round b", () -> round(survivor.keys(), "b").size() == 16);
        // What the doomed heard and had not committed is heard again: nothing is lost, some may come twice.
        Set<String> both = survivor.keys();
        both.addAll(heardByDoomed);
        lab.say("received by either", both.size());
    }

    /** A consumer dies holding its locks: they stay its own for a minute, and the rest waits in order. */
    static void orderlyDying(Lab lab) throws Exception {
        String topic = lab.createTopic("OrderlyDying", 1);
        DefaultMQProducer producer = lab.producer("OrderlyDying");
        Process doomed = otherJvm(lab.namesrv, "consume", topic, lab.group("OrderlyDying"), "*", "c1", "orderly");
        BufferedReader lines = new BufferedReader(new InputStreamReader(doomed.getInputStream(), StandardCharsets.UTF_8));
        sendNumbered(producer, topic, 0);
        Set<String> heardByDoomed = new TreeSet<>();
        while (heardByDoomed.size() < 10) {
            String line = lines.readLine();
            if (line == null) {
                throw new IllegalStateException("the doomed consumer ended by itself");
            }
            if (line.startsWith("recv ")) {
                heardByDoomed.add(line.split(" ")[2]);
            }
        }
        lab.say("the doomed received", heardByDoomed);
        Map<String, List<String>> heard = new TreeMap<>();
        DefaultMQPushConsumer heir = lab.pushConsumer("OrderlyDying", "heir");
        heir.subscribe(topic, "*");
        heir.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        heir.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            synchronized (heard) {
                messages.forEach(message -> heard.computeIfAbsent(Lab.queue(context.getMessageQueue()), q -> new ArrayList<>())
                    .add(message.getKeys()));
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        doomed.destroyForcibly();
        doomed.waitFor();
        long death = System.nanoTime();
        heir.start();
        sendNumbered(producer, topic, 5);
        Lab.await("the rest", 120, () -> {
            synchronized (heard) {
                return heard.size() == 2 && heard.values().stream().allMatch(keys -> keys.contains(keys.get(0).substring(0, 9) + "9"));
            }
        });
        long waited = (System.nanoTime() - death) / 1_000_000_000L;
        // Locks were told again up to 20 s before the death; the heir asks each 20 s.
        lab.say("the locks outlived their owner", waited >= 35 && waited < 100);
        // The doomed may have died before it committed: then all comes again, in order all the same.
        heard.forEach((queue, keys) -> lab.say("order in " + queue, keys.subList(keys.size() - 5, keys.size())));
    }

    private static void sendNumbered(DefaultMQProducer producer, String topic, int from) throws Exception {
        for (String broker : new String[] {"broker-a", "broker-b"}) {
            for (int i = from; i < from + 5; i++) {
                producer.send(message(topic, "t", broker + "-" + i), new MessageQueue(topic, broker, 0));
            }
        }
    }

    /** Adds what a consumer in another JVM receives to keys, until it ends. */
    static Thread hear(Process consumer, Set<String> keys) {
        Thread ear = new Thread(() -> new BufferedReader(new InputStreamReader(consumer.getInputStream(), StandardCharsets.UTF_8))
            .lines().filter(line -> line.startsWith("recv ")).forEach(line -> keys.add(line.split(" ")[2])));
        ear.start();
        return ear;
    }

    static Process otherJvm(String... args) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(Program.class.getName());
        command.addAll(java.util.Arrays.asList(args));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    static void broadcast(Lab lab) throws Exception {
        String topic = lab.createTopic("Broadcast", 2);
        DefaultMQProducer producer = lab.producer("Broadcast");
        List<Ear> ears = new ArrayList<>();
        for (int i = 1; i <= 2; i++) {
            Ear ear = new Ear(lab.pushConsumer("Broadcast", "c" + i), topic, "*");
            Lab.broadcasting(ear.consumer);
            ears.add(ear.start());
            Lab.await("all queues", () -> assigned(ear.consumer, topic).size() == 4);
            lab.say("share of " + i, ear.share(topic));
        }
        for (int i = 0; i < 8; i++) {
            producer.send(message(topic, "t", "m" + i));
        }
        for (Ear ear : ears) {
            Lab.await("8 messages", () -> ear.keys().size() == 8);
            lab.say("received", ear.keys() + " in " + ear.heard.size());
        }
        ears.get(0).consumer.shutdown();
        Path offsets = Paths.get(System.getProperty("rocketmq.client.localOffsetStoreDir"));
        try (Stream<Path> files = Files.walk(offsets)) {
            lab.say("local offset files", files.filter(file -> file.endsWith("offsets.json")).count() >= 1);
        }
        DefaultMQPullConsumer committed = lab.pullConsumer("BroadcastPeek");
        lab.say("nothing committed at the broker", committed.fetchConsumeOffset(new MessageQueue(topic, "broker-a", 0), true));
        for (int i = 0; i < 4; i++) {
            producer.send(message(topic, "t", "n" + i));
        }
        Lab.await("4 more", () -> ears.get(1).keys().size() == 12);
        Ear again = new Ear(lab.pushConsumer("Broadcast", "c1"), topic, "*");
        Lab.broadcasting(again.consumer);
        again.start();
        Lab.await("4 missed", () -> again.keys().size() >= 4);
        lab.say("after restart received", again.keys() + " in " + again.heard.size());
    }
}
