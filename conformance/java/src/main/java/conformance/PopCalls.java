package conformance;

import static conformance.Lab.message;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.AckResult;
import org.apache.rocketmq.client.consumer.NotifyResult;
import org.apache.rocketmq.client.consumer.PopResult;
import org.apache.rocketmq.client.consumer.PopStatus;
import org.apache.rocketmq.client.impl.mqclient.DoNothingClientRemotingProcessor;
import org.apache.rocketmq.client.impl.mqclient.MQClientAPIExt;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.constant.ConsumeInitMode;
import org.apache.rocketmq.common.filter.ExpressionType;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.protocol.header.NotificationRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.PopMessageRequestHeader;

/**
 * What no consumer of RocketMQ's remoting client does, but its lower classes can: acknowledge several messages by one request,
 * and be told of messages without popping them. RocketMQ's proxy uses the same classes. Only a build with 5.5.0 has this class.
 */
final class PopCalls {
    private static final String BROKER_NAME = "broker-a";
    private static final int ANY_QUEUE = -1;
    private static final int BATCH = 32;
    private static final long INVISIBLE_MS = 5_000;
    private static final long LONG_MS = 300_000; // nothing comes again
    private static final long SHORT_HOLD_MS = 1_000;
    private static final long HOLD_MS = 15_000; // longer than a message that comes again is away
    private static final long TIMEOUT_MS = 60_000;

    private final MQClientAPIExt client;
    private final Lab lab;
    private final String broker;
    private final String topic;
    private final String group;

    private PopCalls(Lab lab, String what, int queues) throws Exception {
        this.lab = lab;
        topic = lab.createTopic(what, queues, 6, Set.of(BROKER_NAME));
        group = lab.group(what);
        broker = lab.masters().get(BROKER_NAME);
        client = new MQClientAPIExt(new ClientConfig(), new NettyClientConfig(), new DoNothingClientRemotingProcessor(null), null);
        client.start();
        lab.atEnd(client::shutdown);
    }

    /** Called by {@link Program}, which does not need this class. */
    static void register(Map<String, Program.Scenario> scenarios) {
        scenarios.put("popbatchack", PopCalls::batchAck);
        scenarios.put("poporderbatchack", PopCalls::batchAckInOrder);
        scenarios.put("popnotification", PopCalls::notification);
        scenarios.put("popordernotification", PopCalls::notificationInOrder);
    }

    /** One acknowledgement of messages of two queues: those that it leaves out come again, and are acknowledged together, too. */
    private static void batchAck(Lab lab) throws Exception {
        PopCalls calls = new PopCalls(lab, "PopBatchAck", 2);
        calls.send(2, 8);
        List<MessageExt> first = calls.popAll(8, false);
        lab.say("popped", told(first));
        first.removeIf(message -> "m1 m2 m5".contains(message.getKeys()));
        lab.say("acknowledged", calls.acknowledge(calls.topic, first));
        lab.say("acknowledged again", calls.acknowledge(calls.topic, first));
        List<MessageExt> again = calls.popAll(3, false);
        lab.say("came again", told(again));
        lab.say("acknowledged", calls.acknowledge(calls.topic, again));
        lab.sayFailure("of no message", () -> calls.acknowledge(calls.topic, List.of()));
        lab.sayFailure("of no topic", () -> calls.acknowledge(lab.topic("PopNowhere"), first));
        lab.say("left", calls.pop(calls.popHeader(ANY_QUEUE, HOLD_MS, false)).getPopStatus());
    }

    /** A queue in order is free when all that was popped of it is acknowledged. */
    private static void batchAckInOrder(Lab lab) throws Exception {
        PopCalls calls = new PopCalls(lab, "PopOrderBatchAck", 1);
        calls.send(1, 5);
        PopMessageRequestHeader two = calls.popHeader(0, SHORT_HOLD_MS, true);
        two.setMaxMsgNums(2);
        two.setInvisibleTime(LONG_MS);
        List<MessageExt> first = calls.pop(two).getMsgFoundList();
        lab.say("popped", told(first));
        lab.say("before the acknowledgement", calls.pop(calls.fresh(two)).getPopStatus());
        lab.say("acknowledged the second", calls.acknowledge(calls.topic, first.subList(1, 2)));
        lab.say("before the other one", calls.pop(calls.fresh(two)).getPopStatus());
        lab.say("acknowledged both", calls.acknowledge(calls.topic, first));
        List<MessageExt> second = calls.pop(calls.fresh(two)).getMsgFoundList();
        lab.say("popped", told(second));
        lab.say("acknowledged", calls.acknowledge(calls.topic, second));
        lab.say("popped", told(calls.pop(calls.fresh(two)).getMsgFoundList()));
    }

    /** Who is told of messages: at once, after a wait, and of those that come again. */
    private static void notification(Lab lab) throws Exception {
        PopCalls calls = new PopCalls(lab, "PopNotification", 2);
        lab.say("of a new group", calls.told(calls.notificationHeader(0, SHORT_HOLD_MS, false)));
        lab.say("first pop", calls.pop(calls.popHeader(ANY_QUEUE, SHORT_HOLD_MS, false)).getPopStatus());
        lab.say("no message", calls.told(calls.notificationHeader(ANY_QUEUE, SHORT_HOLD_MS, false)));
        calls.held("sent meanwhile", calls.notificationHeader(ANY_QUEUE, HOLD_MS, false), () -> calls.send(1, 1));
        lab.say("message there", calls.told(calls.notificationHeader(0, HOLD_MS, false)));
        lab.say("in another queue", calls.told(calls.notificationHeader(1, SHORT_HOLD_MS, false)));
        lab.say("popped", told(calls.popAll(1, false)));
        lab.say("while it is invisible", calls.told(calls.notificationHeader(ANY_QUEUE, SHORT_HOLD_MS, false)));
        lab.say("when it comes again", calls.told(calls.notificationHeader(ANY_QUEUE, HOLD_MS, false)));
        List<MessageExt> again = calls.popAll(1, false);
        lab.say("popped", told(again));
        lab.say("acknowledged", calls.acknowledge(calls.topic, again));
        lab.say("nothing is left", calls.told(calls.notificationHeader(ANY_QUEUE, SHORT_HOLD_MS, false)));
        lab.sayFailure("no such queue", () -> calls.told(calls.notificationHeader(2, SHORT_HOLD_MS, false)));
        NotificationRequestHeader nowhere = calls.notificationHeader(0, SHORT_HOLD_MS, false);
        nowhere.setTopic(lab.topic("PopNowhere"));
        lab.sayFailure("no such topic", () -> calls.told(nowhere));
    }

    /** A queue in order that is locked has nothing to tell of, but to the attempt that locked it. */
    private static void notificationInOrder(Lab lab) throws Exception {
        PopCalls calls = new PopCalls(lab, "PopOrderNotification", 1);
        calls.send(1, 3);
        PopMessageRequestHeader one = calls.popHeader(0, SHORT_HOLD_MS, true);
        one.setMaxMsgNums(1);
        one.setInvisibleTime(LONG_MS);
        one.setAttemptId("attempt");
        List<MessageExt> first = calls.pop(one).getMsgFoundList();
        lab.say("popped", told(first));
        lab.say("in order", calls.told(calls.notificationHeader(0, SHORT_HOLD_MS, true)));
        lab.say("without order", calls.told(calls.notificationHeader(0, SHORT_HOLD_MS, false)));
        NotificationRequestHeader same = calls.notificationHeader(0, SHORT_HOLD_MS, true);
        same.setAttemptId("attempt");
        lab.say("of the same attempt", calls.told(same));
        calls.held("acknowledged meanwhile", calls.notificationHeader(0, HOLD_MS, true), () -> calls.acknowledge(calls.topic, first));
        lab.say("popped", told(calls.pop(calls.fresh(one)).getMsgFoundList()));
    }

    /** Sends messages, each to the next queue, and waits until they can be read. */
    private String send(int queues, int count) throws Exception {
        DefaultMQProducer producer = lab.producer(topic);
        for (int i = 0; i < count; i++) {
            producer.send(message(topic, "t", "m" + i), new MessageQueue(topic, BROKER_NAME, i % queues));
        }
        Lab.await(count + " messages", () -> lab.total(topic) == count);
        return count + " sent";
    }

    private PopMessageRequestHeader popHeader(int queue, long holdMs, boolean inOrder) {
        PopMessageRequestHeader header = new PopMessageRequestHeader();
        header.setConsumerGroup(group);
        header.setTopic(topic);
        header.setQueueId(queue);
        header.setMaxMsgNums(BATCH);
        header.setInvisibleTime(INVISIBLE_MS);
        header.setPollTime(holdMs);
        header.setBornTime(System.currentTimeMillis());
        header.setInitMode(ConsumeInitMode.MIN);
        header.setExpType(ExpressionType.TAG);
        header.setExp("*");
        header.setOrder(inOrder);
        return header;
    }

    /** The same request, made now: a broker refuses one that has waited for longer than it wanted to. */
    private PopMessageRequestHeader fresh(PopMessageRequestHeader header) {
        header.setBornTime(System.currentTimeMillis());
        header.setAttemptId(null);
        return header;
    }

    private PopResult pop(PopMessageRequestHeader header) throws Exception {
        return result(client.popMessageAsync(broker, BROKER_NAME, header, TIMEOUT_MS));
    }

    /** Pops until so many messages have come: one pop may read one of the queues only. */
    private List<MessageExt> popAll(int count, boolean inOrder) throws Exception {
        List<MessageExt> all = new ArrayList<>();
        Lab.await(count + " popped messages", () -> {
            PopResult result = pop(popHeader(ANY_QUEUE, HOLD_MS, inOrder));
            if (result.getPopStatus() == PopStatus.FOUND) {
                all.addAll(result.getMsgFoundList());
            }
            return all.size() >= count;
        });
        return all;
    }

    private String acknowledge(String ofTopic, List<MessageExt> messages) throws Exception {
        List<String> handles = new ArrayList<>();
        for (MessageExt message : messages) {
            handles.add(message.getProperty(MessageConst.PROPERTY_POP_CK));
        }
        AckResult result = result(client.batchAckMessageAsync(broker, ofTopic, group, handles, TIMEOUT_MS));
        return String.valueOf(result.getStatus());
    }

    private NotificationRequestHeader notificationHeader(int queue, long holdMs, boolean inOrder) {
        NotificationRequestHeader header = new NotificationRequestHeader();
        header.setConsumerGroup(group);
        header.setTopic(topic);
        header.setQueueId(queue);
        header.setPollTime(holdMs);
        header.setBornTime(System.currentTimeMillis());
        header.setOrder(inOrder);
        return header;
    }

    private String told(NotificationRequestHeader header) throws Exception {
        return told((NotifyResult) result(client.notificationWithPollingStats(broker, header, TIMEOUT_MS)));
    }

    /** Tells what a request says that is held, once something is done. */
    private void held(String key, NotificationRequestHeader header, Callable<String> meanwhile) throws Exception {
        Future<NotifyResult> held = client.notificationWithPollingStats(broker, header, TIMEOUT_MS);
        Thread.sleep(500);
        String atOnce = held.isDone() ? "not held" : "held";
        String done = meanwhile.call();
        lab.say(key, atOnce + ", " + done + ", " + told(result(held)));
    }

    private static String told(NotifyResult result) {
        return (result.isHasMsg() ? "messages" : "none") + (result.isPollingFull() ? ", too many are held" : "");
    }

    /** Keys, in their order, each with how often it has come again. */
    private static Map<String, Integer> told(List<MessageExt> messages) {
        Map<String, Integer> times = new TreeMap<>();
        messages.forEach(message -> times.put(message.getKeys(), message.getReconsumeTimes()));
        return times;
    }

    /** What a call returns or throws. */
    private static <T> T result(Future<T> future) throws Exception {
        try {
            return future.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
        }
    }
}
