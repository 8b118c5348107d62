package conformance;

import static conformance.Lab.message;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Half messages: committed, rolled back, asked about; the clusters ask after 1 s, each 3 s, three times at most. */
final class Transactions {
    private Transactions() {
    }

    /** Decides by the message's tag: what at first, then what at each check, the last again and again. */
    private static final class Decider implements TransactionListener {
        final Map<String, AtomicInteger> checks = new ConcurrentSkipListMap<>();
        final ConcurrentLinkedQueue<MessageExt> asked = new ConcurrentLinkedQueue<>();

        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
            return decide(message, 0);
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            asked.add(message);
            return decide(message, checks.computeIfAbsent(message.getKeys(), key -> new AtomicInteger()).incrementAndGet());
        }

        private LocalTransactionState decide(Message message, int turn) {
            String[] decisions = message.getTags().split("-");
            String decision = decisions[Math.min(turn, decisions.length - 1)];
            if (decision.equals("throw")) {
                throw new IllegalStateException("cannot tell");
            }
            return decision.equals("commit") ? LocalTransactionState.COMMIT_MESSAGE
                : decision.equals("rollback") ? LocalTransactionState.ROLLBACK_MESSAGE : LocalTransactionState.UNKNOW;
        }
    }

    private static TransactionMQProducer producer(Lab lab, String group, String instance, Decider decider) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(lab.group(group));
        producer.setTransactionListener(decider);
        lab.start(producer, instance);
        return producer;
    }

    static void transaction(Lab lab) throws Exception {
        String topic = lab.createTopic("Transaction", 1);
        Decider decider = new Decider();
        TransactionMQProducer producer = producer(lab, "Transaction", "transaction", decider);
        Pushes.Ear ear = new Pushes.Ear(lab.pushConsumer("Transaction", "after"), topic, "*").start();
        String[] decisions = {
            "commit", "rollback", "unknown-commit", "unknown-rollback", "throw-commit", "unknown-unknown-commit",
            "unknown-throw-commit", "unknown",
        };
        for (String decision : decisions) {
            Message half = message(topic, decision, decision);
            half.putUserProperty("colour", "red");
            TransactionSendResult result = producer.sendMessageInTransaction(half, null);
            lab.say(decision, result.getSendStatus() + " " + result.getLocalTransactionState() + " queue="
                + result.getMessageQueue().getQueueId() + " idIsUniqKey=" + result.getMsgId().equals(result.getTransactionId())
                + " halfIdIsUniqKey=" + result.getMsgId().equals(half.getTransactionId()));
        }
        lab.sayFailure("half with a delay", () -> { // 4.9.7 takes the delay out, 5.x refuses it
            Message late = message(topic, "rollback", "late");
            late.setDelayTimeLevel(2);
            return producer.sendMessageInTransaction(late, null).getSendStatus();
        });
        Lab.await("5 committed", () -> ear.heard.size() >= 5);
        for (MessageExt message : Lab.byKey(ear.heard)) {
            message.getProperties().remove("MAX_OFFSET");
            lab.say("committed", lab.describe(message));
        }
        MessageQueue given = new MessageQueue("TRANS_CHECK_MAX_TIME_TOPIC", "", 0);
        Lab.await("one to be given up", () -> !inTopic(lab, given.getTopic(), topic).isEmpty());
        for (MessageExt message : inTopic(lab, given.getTopic(), topic)) {
            lab.say("given up", lab.describe(message));
        }
        lab.say("checks", decider.checks);
        for (MessageExt message : Lab.byKey(decider.asked)) {
            lab.say("asked about", lab.describe(message));
        }
        lab.say("received in all", ear.keys() + " in " + ear.heard.size());
        producer.shutdown();
    }

    /** What a system topic holds of a topic of this scenario. */
    private static List<MessageExt> inTopic(Lab lab, String system, String topic) throws Exception {
        List<MessageExt> found = new ArrayList<>();
        for (String broker : lab.masters().keySet()) {
            for (MessageExt message : lab.all(new MessageQueue(system, broker, 0))) {
                if (topic.equals(message.getProperty("REAL_TOPIC"))) {
                    message.getProperties().remove("MAX_OFFSET"); // others use this queue too
                    found.add(message);
                }
            }
        }
        return found;
    }

    static void takeover(Lab lab) throws Exception {
        String topic = lab.createTopic("Takeover", 1);
        Decider unsure = new Decider();
        TransactionMQProducer first = producer(lab, "Takeover", "first", unsure);
        Pushes.Ear ear = new Pushes.Ear(lab.pushConsumer("Takeover", "after"), topic, "*").start();
        long start = System.nanoTime();
        Map<String, Object> sent = new TreeMap<>();
        for (String decision : new String[] {"unknown-commit", "unknown-rollback"}) {
            Message half = message(topic, decision, decision);
            half.putUserProperty("CHECK_IMMUNITY_TIME_IN_SECONDS", "2");
            sent.put(decision, first.sendMessageInTransaction(half, null).getSendStatus());
        }
        lab.say("sent", sent);
        new Thread(first::shutdown).start(); // of a 5.5.0 client this takes seconds, after it has said goodbye
        Decider heir = new Decider();
        // Who has sent nothing knows no broker to tell of itself.
        producer(lab, "Takeover", "second", heir).send(message(topic, "t", "hello"));
        Lab.await("both asked about", () -> heir.checks.size() == 2);
        long waited = (System.nanoTime() - start) / 1_000_000;
        lab.say("not before its immunity ended", waited >= 2000);
        Lab.await("hello and one committed", () -> ear.keys().size() >= 2);
        lab.say("the first was asked", unsure.checks);
        lab.say("the second was asked", heir.checks);
        lab.say("received", ear.keys());
        for (MessageExt message : Lab.byKey(heir.asked)) {
            // Each look at it before its time has counted as a check, and has stored it anew.
            message.getProperties().keySet().removeAll(Set.of("TRANSACTION_CHECK_TIMES", "TRAN_PREPARED_QUEUE_OFFSET"));
            lab.say("asked about", Lab.properties(message));
        }
    }
}
