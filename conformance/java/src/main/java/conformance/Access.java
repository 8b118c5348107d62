package conformance;

import static conformance.Lab.message;

import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Clients with keys, and without, at brokers that check them. */
final class Access {
    private static final String SECRET = "12345678";

    private Access() {
    }

    static void access(Lab lab) throws Exception {
        DefaultMQAdminExt admin = admin(lab, "adminadmin");
        String topic = lab.topic("Access");
        for (String address : lab.masters().values()) {
            admin.createAndUpdateTopicConfig(address, new TopicConfig(topic, 2, 2, 6));
        }
        Lab.await("route of " + topic, () -> Lab.routed(() -> lab.queuesOf(topic).size() == 2 * lab.masters().size()));
        String address = lab.masters().get("broker-a");

        Message one = message(topic, "t", "one");
        lab.sayFailure("no key", () -> producer(lab, "none", null, SECRET).send(one));
        lab.sayFailure("unknown key", () -> producer(lab, "unknown", "unknownkey", SECRET).send(one));
        lab.sayFailure("wrong secret", () -> producer(lab, "wrong", "clientclient", "87654321").send(one));
        DefaultMQProducer denied = producer(lab, "denied", "useruser", SECRET);
        lab.sayFailure("no permission for the topic", () -> denied.send(one));
        lab.sayFailure("one-way without permission", () -> {
            denied.sendOneway(one);
            return "silent";
        });
        lab.sayFailure("an admin request", () -> {
            admin(lab, "clientclient").createAndUpdateTopicConfig(address, new TopicConfig(topic, 4, 4, 6));
            return "done";
        });

        DefaultMQProducer producer = producer(lab, "client", "clientclient", SECRET);
        SendResult sent = producer.send(message(topic, "t", "two"), new MessageQueue(topic, "broker-a", 0));
        lab.say("sent", sent.getSendStatus());
        lab.say("a batch", producer.send(Arrays.asList(message(topic, "t", "three"), message(topic, "t", "four"))).getSendStatus());
        producer.sendOneway(message(topic, "t", "five"));
        lab.say("a transaction", transaction(lab, topic).getSendStatus());
        lab.sayFailure("by offset id", () -> new String(producer.viewMessage(topic, sent.getOffsetMsgId()).getBody()));
        lab.sayFailure("by unique key", () -> new String(producer.viewMessage(topic, sent.getMsgId()).getBody()));
        long begin = System.currentTimeMillis() - 60_000;
        lab.sayFailure("by key", () -> Lab.keys(producer.queryMessage(topic, "two", 32, begin, begin + 3_600_000).getMessageList()));

        DefaultMQPullConsumer reader = new DefaultMQPullConsumer(lab.group("AccessReader"), hook("sendersender", SECRET));
        lab.name(reader, "reader");
        reader.start();
        lab.atEnd(reader::shutdown);
        lab.say("a pull without permission", pulled(reader, new MessageQueue(topic, "broker-a", 0)));
        consume(lab, topic);
    }

    /** Without the text: it names the topic or the group, by the hashes of their names, which differ in each run. */
    private static String pulled(DefaultMQPullConsumer reader, MessageQueue queue) throws Exception {
        try {
            return "no failure, " + reader.pull(queue, "*", 0, 1);
        } catch (MQBrokerException e) {
            return "code=" + e.getResponseCode();
        }
    }

    private static RPCHook hook(String account, String secret) {
        return account == null ? null : new AclClientRPCHook(new SessionCredentials(account, secret));
    }

    private static DefaultMQProducer producer(Lab lab, String name, String account, String secret) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(lab.group("Access-" + name), hook(account, secret));
        lab.start(producer, name);
        return producer;
    }

    private static DefaultMQAdminExt admin(Lab lab, String account) throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt(hook(account, SECRET), 15_000);
        lab.name(admin, "admin-" + account);
        admin.start();
        lab.atEnd(admin::shutdown);
        return admin;
    }

    private static SendResult transaction(Lab lab, String topic) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(lab.group("AccessTransaction"), hook("clientclient", SECRET));
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.UNKNOW;
            }
        });
        lab.start(producer, "transaction");
        return producer.sendMessageInTransaction(message(topic, "t", "six"), null);
    }

    /** Everything is received, and what is sent back once more. */
    private static void consume(Lab lab, String topic) throws Exception {
        Queue<String> received = new ConcurrentLinkedQueue<>();
        DefaultMQPushConsumer consumer =
            new DefaultMQPushConsumer(lab.group("Access"), hook("clientclient", SECRET), new AllocateMessageQueueAveragely());
        lab.name(consumer, "consumer");
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            MessageExt message = messages.get(0);
            received.add(message.getKeys() + " " + message.getReconsumeTimes());
            boolean again = message.getKeys().equals("two") && message.getReconsumeTimes() == 0;
            return again ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        lab.atEnd(consumer::shutdown);
        List<String> all = Arrays.asList("two 0", "two 1", "three 0", "four 0", "five 0", "six 0");
        Lab.await("all messages, of " + received, () -> received.containsAll(all));
        lab.say("received", Lab.tally(received));
    }
}
