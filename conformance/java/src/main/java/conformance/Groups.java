package conformance;

import static conformance.Lab.message;

import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Groups and topics that change, or are looked at, while consumers run. */
final class Groups {
    private Groups() {
    }

    static void timestamp(Lab lab) throws Exception {
        String topic = lab.createTopic("Timestamp", 1);
        DefaultMQProducer producer = lab.producer("Timestamp");
        send(producer, topic, "before");
        // The client's timestamps are whole seconds; the broker finds the message nearest to a time.
        Thread.sleep(2200);
        String between = UtilAll.timeMillisToHumanString3(System.currentTimeMillis());
        send(producer, topic, "after");
        lab.stored(topic, 4);
        // Groups that have committed nothing in a young topic begin at 0, wherever they want to. Who keeps offsets locally asks.
        for (boolean broadcasting : new boolean[] {false, true}) {
            for (ConsumeFromWhere where : new ConsumeFromWhere[] {ConsumeFromWhere.CONSUME_FROM_TIMESTAMP,
                ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET}) {
                String name = where.name() + (broadcasting ? "_BROADCASTING" : "");
                DefaultMQPushConsumer consumer = lab.pushConsumer(name, name);
                consumer.setConsumeThreadMin(1); // so that a queue's last message is heard last
                consumer.setConsumeThreadMax(1);
                Pushes.Ear ear = new Pushes.Ear(consumer, topic, "*");
                consumer.setConsumeFromWhere(where);
                consumer.setConsumeTimestamp(between);
                if (broadcasting) {
                    Lab.broadcasting(consumer);
                }
                ear.start();
                Lab.await("queues", () -> Pushes.assigned(consumer, topic).size() == 2);
                send(producer, topic, name);
                Lab.await("the last", () -> ear.keys().containsAll(Set.of(name + "-broker-a", name + "-broker-b")));
                Set<String> early = ear.keys();
                early.removeIf(key -> key.startsWith("CONSUME"));
                lab.say(name, early);
            }
        }
    }

    private static void send(DefaultMQProducer producer, String topic, String round) throws Exception {
        for (String broker : new String[] {"broker-a", "broker-b"}) {
            producer.send(message(topic, "t", round + "-" + broker), new MessageQueue(topic, broker, 0));
        }
    }

    static void suspended(Lab lab) throws Exception {
        String topic = lab.createTopic("Suspended", 1);
        DefaultMQProducer producer = lab.producer("Suspended");
        lab.createGroup("Suspended", false);
        send(producer, topic, "early");
        DefaultMQPushConsumer consumer = lab.pushConsumer("Suspended", "suspended");
        Pushes.Ear ear = new Pushes.Ear(consumer, topic, "*").start();
        Lab.await("queues", () -> Pushes.assigned(consumer, topic).size() == 2);
        Thread.sleep(1000);
        lab.say("received while suspended", ear.keys());
        DefaultMQPullConsumer pull = lab.pullConsumer("Suspended");
        lab.sayFailure("pull while suspended", () -> pull.pull(new MessageQueue(topic, "broker-a", 0), "*", 0, 32).getPullStatus());
        pull.shutdown();
        lab.createGroup("Suspended", true);
        Lab.await("both", () -> ear.keys().size() == 2); // the client tries again each 3 s
        lab.say("received after resumption", ear.keys() + " in " + ear.heard.size());

        // The consumer can also stop by itself.
        consumer.suspend();
        Thread.sleep(500);
        send(producer, topic, "late");
        Thread.sleep(500);
        int heard = ear.keys().size();
        consumer.resume();
        Lab.await("late", () -> ear.keys().size() == 4);
        lab.say("its own suspension", heard <= 4 ? ear.keys() : heard);
    }

    static void growing(Lab lab) throws Exception {
        String topic = lab.createTopic("Growing", 1);
        DefaultMQProducer producer = lab.producer("Growing");
        DefaultMQPushConsumer consumer = lab.pushConsumer("Growing", "growing");
        Pushes.Ear ear = new Pushes.Ear(consumer, topic, "*").start();
        Lab.await("2 queues", () -> Pushes.assigned(consumer, topic).size() == 2);
        sendTo(producer, topic, "one", 1);
        Lab.await("one", () -> ear.keys().size() == 2);
        lab.createTopic("Growing", 3);
        // Each client asks for routes every 30 s and shares out every 20; here at once.
        Lab.refresh(consumer);
        producer.getDefaultMQProducerImpl().getMqClientFactory().updateTopicRouteInfoFromNameServer();
        Lab.await("6 queues", () -> Pushes.assigned(consumer, topic).size() == 6);
        lab.say("grown to", ear.share(topic));
        lab.say("publish queues", Lab.queues(producer.fetchPublishMessageQueues(topic)));
        sendTo(producer, topic, "three", 3);
        Lab.await("three", () -> ear.keys().size() == 8);
        lab.say("received", ear.keys() + " in " + ear.heard.size());
        MessageQueue gone = new MessageQueue(topic, "broker-a", 2);
        lab.createTopic("Growing", 2);
        Lab.refresh(consumer);
        producer.getDefaultMQProducerImpl().getMqClientFactory().updateTopicRouteInfoFromNameServer();
        Lab.await("4 queues", () -> Pushes.assigned(consumer, topic).size() == 4);
        lab.say("shrunk to", ear.share(topic));
        lab.sayFailure("send to a queue that is gone", () -> producer.send(message(topic, "t", "k"), gone).getSendStatus());
        lab.sayFailure("pull from a queue that is gone", () -> lab.reader().pull(gone, "*", 0, 32).getPullStatus());
        lab.createTopic("Growing", 3);
        lab.sayFailure("pull from it when it is back", () -> lab.reader().pull(gone, "*", 0, 32).getMsgFoundList().size());
    }

    private static void sendTo(DefaultMQProducer producer, String topic, String round, int queues) throws Exception {
        for (int queue = 0; queue < queues; queue++) {
            for (String broker : new String[] {"broker-a", "broker-b"}) {
                producer.send(message(topic, "t", round + "-" + broker + "-" + queue), new MessageQueue(topic, broker, queue));
            }
        }
    }

    static void deleted(Lab lab) throws Exception {
        DefaultMQProducer producer = lab.producer("Deleted");
        String topic = lab.createTopic("Deleted", 1);
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        lab.say("sent", producer.send(message(topic, "t", "k"), queue).getSendStatus());
        Lab.await("stored", () -> lab.reader().maxOffset(queue) == 1);
        DefaultMQAdminExt admin = lab.admin();
        admin.deleteTopicInBroker(new TreeSet<>(lab.masters().values()), topic);
        // 5.x takes the cluster first.
        admin.deleteTopicInNameServer(Set.of(lab.namesrv), Lab.FIVE ? "DefaultCluster" : topic,
            Lab.FIVE ? topic : "DefaultCluster");
        // The client creates a topic that it sends to; brokers allow that by default.
        lab.sayFailure("pull after deletion", () -> lab.reader().pull(queue, "*", 0, 32).getPullStatus());
        lab.sayFailure("queues after deletion", () -> lab.reader().fetchSubscribeMessageQueues(topic));
        lab.createTopic("Deleted", 1);
        lab.sayFailure("offsets of the new topic", () -> lab.reader().minOffset(queue) + " " + lab.reader().maxOffset(queue));
        lab.say("sent again", producer.send(message(topic, "t", "k"), queue).getQueueOffset());

        String made = lab.topic("Made");
        lab.sayFailure("create by the producer", () -> {
            create(producer, made);
            return "created";
        });
        Lab.await("route", () -> Lab.routed(() -> lab.queuesOf(made).size() == 6));
        lab.say("queues of the one created", Lab.queues(lab.queuesOf(made)));
        lab.sayFailure("create an illegal one", () -> {
            create(producer, "no/slash");
            return "created";
        });
    }

    /** 5.x wants attributes too. */
    private static void create(DefaultMQProducer producer, String topic) throws Exception {
        try {
            for (var method : DefaultMQProducer.class.getMethods()) {
                if (method.getName().equals("createTopic") && method.getParameterCount() <= 4) {
                    if (method.getParameterCount() == 3) {
                        method.invoke(producer, "TBW102", topic, 3);
                        return;
                    }
                    if (method.getParameterTypes()[3] != int.class) {
                        method.invoke(producer, "TBW102", topic, 3, new HashMap<String, String>());
                        return;
                    }
                }
            }
        } catch (InvocationTargetException e) {
            throw (Exception) e.getCause();
        }
    }

    static void reset(Lab lab) throws Exception {
        // For each broker's reset in turn the client stops its queues, waits 10 s and begins anew: one broker is enough.
        String topic = lab.createTopic("Reset", 2, 6, List.of("broker-a"));
        DefaultMQProducer producer = lab.producer("Reset");
        DefaultMQPushConsumer consumer = lab.pushConsumer("Reset", "reset");
        Pushes.Ear ear = new Pushes.Ear(consumer, topic, "*").start();
        Lab.await("queues", () -> Pushes.assigned(consumer, topic).size() == 2);
        long begin = System.currentTimeMillis() - 1000;
        sendRound(producer, topic, "a");
        // The broker finds the message nearest to a time: those of the second round.
        Thread.sleep(1000);
        long middle = System.currentTimeMillis();
        sendRound(producer, topic, "b");
        DefaultMQAdminExt admin = lab.admin();
        String group = lab.group("Reset");
        awaitAgain(lab, ear, topic, 4);
        sayReset(lab, "to the middle", () -> admin.resetOffsetByTimestamp(topic, group, middle, true));
        awaitAgain(lab, ear, topic, 2);
        sayReset(lab, "back without force", () -> admin.resetOffsetByTimestamp(topic, group, begin, false));
        awaitAgain(lab, ear, topic, 4);
        consumer.shutdown();
        sayReset(lab, "offline", () -> admin.resetOffsetByTimestamp(topic, group, begin, true));
        lab.sayFailure("offline, the old way", () -> admin.resetOffsetByTimestampOld(group, topic, begin, true).stream()
            .map(stats -> stats.getBrokerName() + ":" + stats.getQueueId() + " consumer=" + stats.getConsumerOffset()
                + " timestamp=" + stats.getTimestampOffset() + " rollback=" + stats.getRollbackOffset())
            .sorted().collect(Collectors.toList()));
        Pushes.Ear again = new Pushes.Ear(lab.pushConsumer("Reset", "again"), topic, "*").start();
        Lab.await("all 4 again", () -> again.keys().size() == 4);
        lab.say("after restart received", again.keys() + " in " + again.heard.size());
    }

    private static void sendRound(DefaultMQProducer producer, String topic, String round) throws Exception {
        for (int queue = 0; queue < 2; queue++) {
            producer.send(message(topic, "t", round + queue), new MessageQueue(topic, "broker-a", queue));
        }
    }

    /** Waits until so many messages have come and all are committed; tells and forgets them. */
    private static void awaitAgain(Lab lab, Pushes.Ear ear, String topic, int count) throws Exception {
        Lab.await(count + " messages", () -> {
            Thread.sleep(500);
            Lab.refresh(ear.consumer);
            return ear.keys().size() == count && lab.committed("Reset", topic) == 4;
        });
        lab.say("received", ear.keys() + " in " + ear.heard.size());
        ear.heard.clear();
    }

    private static void sayReset(Lab lab, String key, Callable<Map<MessageQueue, Long>> reset) {
        lab.sayFailure(key, () -> {
            TreeMap<String, Long> table = new TreeMap<>();
            reset.call().forEach((queue, offset) -> table.put(Lab.queue(queue), offset));
            return table;
        });
    }

    static void inspected(Lab lab) throws Exception {
        String topic = lab.createTopic("Inspected", 1);
        DefaultMQProducer producer = lab.producer("Inspected");
        DefaultMQPushConsumer consumer = lab.pushConsumer("Inspected", "inspected");
        Pushes.Ear ear = new Pushes.Ear(consumer, topic, "TagA || TagB").start();
        Lab.await("queues", () -> Pushes.assigned(consumer, topic).size() == 2);
        SendResult sent = producer.send(message(topic, "TagA", "k1"), new MessageQueue(topic, "broker-a", 0));
        Lab.await("heard", () -> ear.heard.size() == 1);
        DefaultMQAdminExt admin = lab.admin();
        String group = lab.group("Inspected");
        String client = consumer.buildMQClientId();
        Lab.await("heartbeat", () -> lab.subscriptions("Inspected").contains("TagA"));
        lab.say("subscriptions", lab.subscriptions("Inspected"));
        var connection = admin.examineConsumerConnectionInfo(group);
        lab.say("connection", connection.getConsumeType() + " " + connection.getMessageModel() + " "
            + connection.getConsumeFromWhere() + " clients=" + connection.getConnectionSet().size() + " language="
            + connection.getConnectionSet().iterator().next().getLanguage() + " itself="
            + connection.getConnectionSet().iterator().next().getClientId().equals(client));
        Lab.await("the producer's heartbeat", () -> lab.producers("Inspected", topic) == 1);
        var running = admin.getConsumerRunningInfo(group, client, true);
        lab.say("running", running.getProperties().getProperty("PROP_CONSUME_TYPE") + " orderly="
            + running.getProperties().getProperty("PROP_CONSUMEORDERLY") + " subscriptions=" + running.getSubscriptionSet().size()
            + " queues=" + running.getMqTable().keySet().stream().filter(queue -> queue.getTopic().equals(topic)).count()
            + " stack=" + !running.getJstack().isEmpty());
        lab.sayFailure("running info of nobody", () -> admin.getConsumerRunningInfo(group, "127.0.0.1@nobody", false));
        lab.sayFailure("connections of nobody", () -> admin.examineConsumerConnectionInfo(lab.group("Nobody")));
        lab.sayFailure("producers of nobody", () -> admin.examineProducerConnectionInfo(lab.group("Nobody"), topic));
        lab.sayFailure("consumed directly", () -> {
            var result = admin.consumeMessageDirectly(group, client, topic, sent.getMsgId());
            return result.getConsumeResult() + " order=" + result.isOrder() + " autoCommit=" + result.isAutoCommit();
        });
        Lab.await("directly", () -> ear.heard.size() == 2);
        lab.say("received", ear.keys() + " in " + ear.heard.size());
        Lab.await("commit", () -> lab.committed("Inspected", topic) == 1);
        var table = new TreeMap<String, String>();
        lab.sayFailure("consume stats", () -> { // 5.x asks for what 4.9.7 does not know
            admin.examineConsumeStats(group, topic).getOffsetTable().forEach((queue, offset) -> table.put(Lab.queue(queue),
                offset.getBrokerOffset() + " " + offset.getConsumerOffset()));
            return table;
        });
        lab.sayFailure("topic stats", () -> {
            table.clear();
            admin.examineTopicStats(topic).getOffsetTable().forEach((queue, offset) -> table.put(Lab.queue(queue),
                offset.getMinOffset() + " " + offset.getMaxOffset() + " " + (offset.getLastUpdateTimestamp() > 0)));
            return table;
        });
        lab.sayFailure("who consumes", () -> admin.queryTopicConsumeByWho(topic).getGroupList());
        lab.sayFailure("consume time spans", () -> admin.queryConsumeTimeSpan(topic, group).stream()
            // Of an empty queue the delay is 0 if an offset is committed, else the time since 1970.
            .map(span -> Lab.queue(span.getMessageQueue())
                + (span.getMaxTimeStamp() > 0 ? " consumed, delay " + span.getDelayTime() : " empty"))
            .sorted().collect(Collectors.toList()));
        lab.sayFailure("track", () -> admin.messageTrackDetail(admin.viewMessage(topic, sent.getMsgId())).stream()
            .map(track -> track.getConsumerGroup() + " " + track.getTrackType()).collect(Collectors.toList()));
    }
}
