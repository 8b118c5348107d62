package conformance;

import static conformance.Lab.message;

import java.util.Set;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** What SQL92 lets through, what it refuses, and subscriptions that change while consumers run. */
final class Filters {
    private static final String[] EXPRESSIONS = {
        "a > 3", "a >= 3 AND a <= 5", "a BETWEEN 3 AND 5", "a NOT BETWEEN 3 AND 5", "a = 2 OR a = 8", "a <> 2", "a IS NULL",
        "a IS NOT NULL", "colour = 'red'", "colour IN ('red', 'blue')", "colour NOT IN ('red', 'blue')", "colour <> 'red'",
        "TAGS = 'odd'", "TAGS IS NOT NULL AND TAGS IN ('even')", "price > 2.4", "price = 2.5", "price BETWEEN 1 AND 2", "ready = TRUE",
        "ready = FALSE", "ready IS NULL", "NOT (a > 3)", "(a > 3) AND (colour = 'red' OR ready = TRUE)", "KEYS = 'm1'",
        "missing = 1", "missing <> 1", "a > 3 OR missing = 1", "1 < 2", "1 > 2", "a > '3'", "colour > 3", "a = 3.0", "price = 2",
        "colour = 'it''s'", "a > -1", "ready", "a CONTAINS '1'",
    };
    private static final String[] BAD = {
        "", "a", "a >", "a > > 3", "a = 'x", "a BETWEEN 5 AND 3", "a IN (1, 2)", "a == 3", "a > 3 AND", "colour LIKE 'r%'", "a + 1 > 3",
        "a > 99999999999999999999", "'x' = colour = 'y'", "a IN ()", "colour > 'a'", "colour BETWEEN 'a' AND 'b'", "ready > TRUE",
    };

    private Filters() {
    }

    static void sql(Lab lab) throws Exception {
        String topic = lab.createTopic("Sql", 1);
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        sendRound(lab.producer("Sql"), topic, queue);
        DefaultMQPullConsumer consumer = lab.pullConsumer("Sql");
        Lab.await("10 messages", () -> consumer.maxOffset(queue) == 10);
        awaitVersion(consumer, queue);
        for (String expression : EXPRESSIONS) {
            lab.sayFailure(expression, () -> pulled(consumer.pull(queue, MessageSelector.bySql(expression), 0, 32)));
        }
        for (String expression : BAD) {
            lab.sayFailure("bad " + expression, () -> pulled(consumer.pull(queue, MessageSelector.bySql(expression), 0, 32)));
        }
        lab.sayFailure("by tag", () -> pulled(consumer.pull(queue, MessageSelector.byTag("odd"), 0, 32)));
        lab.sayFailure("three at most", () -> pulled(consumer.pull(queue, MessageSelector.bySql("a > 3"), 0, 3)));
    }

    /** The client asks for SQL only where it knows the broker's version, which answers to heartbeats tell. */
    private static void awaitVersion(DefaultMQPullConsumer consumer, MessageQueue queue) throws Exception {
        consumer.fetchSubscribeMessageQueues(queue.getTopic());
        Lab.await("the broker's version", () -> {
            consumer.getDefaultMQPullConsumerImpl().getRebalanceImpl().getmQClientFactory().sendHeartbeatToAllBrokerWithLock();
            try {
                consumer.pull(queue, MessageSelector.bySql("1 < 2"), 0, 1);
            } catch (MQBrokerException answered) {
                return true;
            } catch (MQClientException e) {
                return !e.getErrorMessage().contains("does not upgrade");
            }
            return true;
        });
    }

    private static String pulled(PullResult result) {
        Set<String> keys = new TreeSet<>();
        if (result.getMsgFoundList() != null) {
            keys = Lab.keys(result.getMsgFoundList());
        }
        return result.getPullStatus() + " next=" + result.getNextBeginOffset() + " keys=" + keys;
    }

    private static void sendRound(DefaultMQProducer producer, String topic, MessageQueue queue) throws Exception {
        String[] colours = {"red", "blue", "green", "it's", null};
        for (int i = 0; i < 10; i++) {
            Message message = message(topic, i % 2 == 0 ? "even" : "odd", "m" + i);
            if (i > 0) {
                message.putUserProperty("a", i == 9 ? "nine" : String.valueOf(i));
            }
            if (colours[i % 5] != null) {
                message.putUserProperty("colour", colours[i % 5]);
            }
            if (i % 3 != 0) {
                message.putUserProperty("ready", String.valueOf(i % 3 == 1));
            }
            message.putUserProperty("price", i / 2.0 + (i == 4 ? "0" : ""));
            producer.send(message, queue);
        }
    }

    static void sqlPush(Lab lab) throws Exception {
        String topic = lab.createTopic("SqlPush", 1);
        MessageQueue queue = new MessageQueue(topic, "broker-b", 0);
        DefaultMQProducer producer = lab.producer("SqlPush");
        DefaultMQPushConsumer consumer = lab.pushConsumer("SqlPush", "red");
        Pushes.Ear ear = new Pushes.Ear(consumer, topic, "*");
        consumer.subscribe(topic, MessageSelector.bySql("colour = 'red' OR a BETWEEN 3 AND 4"));
        ear.start();
        sendRound(producer, topic, queue);
        Lab.await("4 by SQL", () -> ear.keys().size() >= 4);
        lab.say("by SQL", ear.keys() + " in " + ear.heard.size());

        DefaultMQPushConsumer bad = lab.pushConsumer("SqlBad", "bad");
        Pushes.Ear deaf = new Pushes.Ear(bad, topic, "*");
        bad.subscribe(topic, MessageSelector.bySql("a > > 3"));
        lab.sayFailure("start with a bad expression", () -> {
            deaf.start();
            return "started";
        });

        // The consumer that runs is told of another expression by its next heartbeat.
        consumer.subscribe(topic, MessageSelector.bySql("price > 4.2"));
        Lab.await("the new expression", () -> {
            ear.heard.clear();
            sendRound(producer, topic, queue);
            Lab.await("some", () -> !ear.heard.isEmpty());
            Thread.sleep(200);
            return ear.keys().equals(Set.of("m9"));
        });
        lab.say("by another expression", ear.keys());
    }

    static void resubscribe(Lab lab) throws Exception {
        String topic = lab.createTopic("Resubscribe", 1);
        String other = lab.createTopic("ResubscribeOther", 1);
        DefaultMQProducer producer = lab.producer("Resubscribe");
        DefaultMQPushConsumer consumer = lab.pushConsumer("Resubscribe", "changing");
        Pushes.Ear ear = new Pushes.Ear(consumer, topic, "TagA").start();
        Lab.await("queues", () -> Pushes.assigned(consumer, topic).size() == 2);
        sendTagged(producer, topic, other, "first");
        Lab.await("first", () -> ear.heard.size() >= 2);
        lab.say("TagA", ear.keys() + " in " + ear.heard.size());

        consumer.subscribe(topic, "TagB");
        consumer.subscribe(other, "*");
        Lab.refresh(consumer);
        Lab.await("queues of the other", () -> Pushes.assigned(consumer, other).size() == 2);
        lab.say("other's queues", ear.share(other));
        // What was sent before the other topic was subscribed is heard too: its offsets begin at the first.
        Lab.await("all of the other", () -> ear.heard.size() >= 6);
        lab.say("and the other", ear.keys());
        // Until a heartbeat has told it and held pulls have ended, the broker filters by the old expression.
        Lab.await("second", () -> {
            ear.heard.clear();
            sendTagged(producer, topic, other, "second");
            Thread.sleep(500);
            return ear.keys().size() == 6 && ear.keys().stream().noneMatch(key -> key.startsWith("second-TagA"));
        });
        lab.say("TagB and the other", ear.keys());

        consumer.unsubscribe(topic);
        Lab.refresh(consumer);
        Lab.await("no queues of the first", () -> Pushes.assigned(consumer, topic).isEmpty());
        ear.heard.clear();
        sendTagged(producer, topic, other, "third");
        Lab.await("third", () -> ear.heard.size() >= 4);
        lab.say("the other only", ear.keys() + " in " + ear.heard.size());
        String[] subscriptions = {""};
        Lab.await("the next heartbeat", () -> {
            subscriptions[0] = lab.subscriptions("Resubscribe");
            return !subscriptions[0].contains("TagB");
        });
        lab.say("subscriptions at the broker", subscriptions[0]);
    }

    private static void sendTagged(DefaultMQProducer producer, String topic, String other, String round) throws Exception {
        for (String to : new String[] {topic, other}) {
            for (String broker : new String[] {"broker-a", "broker-b"}) {
                for (String tag : new String[] {"TagA", "TagB"}) {
                    String key = round + "-" + (to.equals(topic) ? "" : "other-") + tag + "-" + broker;
                    producer.send(message(to, tag, key), new MessageQueue(to, broker, 0));
                }
            }
        }
    }

    static void noSql(Lab lab) throws Exception {
        String topic = lab.createTopic("NoSql", 1);
        DefaultMQPullConsumer consumer = lab.pullConsumer("NoSql");
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        awaitVersion(consumer, queue);
        lab.sayFailure("pull", () -> pulled(consumer.pull(queue, MessageSelector.bySql("a > 3"), 0, 32)));
        DefaultMQPushConsumer push = lab.pushConsumer("NoSqlPush", "push");
        Pushes.Ear ear = new Pushes.Ear(push, topic, "*");
        push.subscribe(topic, MessageSelector.bySql("a > 3"));
        lab.sayFailure("start", () -> {
            ear.start();
            return "started";
        });
    }
}
