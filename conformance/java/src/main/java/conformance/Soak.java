package conformance;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Every kind of producer in one JVM, every kind of consumer in another, steered like {@link Drivers}; their own intervals
 * are PACE times shorter than a client's, whose time is to go that much faster.
 *
 * <p>{@code soaksend NAME PACE PER_SECOND}: {@code ready}, then {@code ack ID} for what is stored, or a half message that will be
 * committed, {@code rolled ID} for one that will be rolled back, {@code fail ID EXCEPTION}; commands {@code go}, {@code pause}
 * (answer {@code paused} when nothing is under way), {@code stop}.
 *
 * <p>{@code soakhear NAME PACE}: {@code ready}, then {@code recv GROUP ID} for what a listener was given for the last time, and
 * {@code again GROUP ID} where it asked for another; commands {@code leave} (answer {@code left}: the listeners are gone, the
 * puller goes on), {@code join} (answer {@code joined}), {@code stop}.
 */
final class Soak {
    private static final String TOPIC = "Soak";
    private static final String ORDERED = "SoakOrdered";
    private static final String[] KINDS = {"sync", "async", "oneway", "batch", "delay", "transaction", "ordered"};
    private static final int MAX_RECONSUME_TIMES = 2;

    private Soak() {
    }

    private static <T extends ClientConfig> T hurried(T client, String namesrv, String name, int pace) {
        System.setProperty("rocketmq.client.rebalance.waitInterval", String.valueOf(20_000 / pace));
        System.setProperty("rocketmq.client.rebalance.lockInterval", String.valueOf(20_000 / pace));
        client.setNamesrvAddr(namesrv);
        client.setInstanceName(name);
        client.setPollNameServerInterval(30_000 / pace);
        client.setHeartbeatBrokerInterval(30_000 / pace);
        client.setPersistConsumerOffsetInterval(5_000 / pace);
        return client;
    }

    private static void event(String kind, String who, String rest) {
        Drivers.event(kind + " " + who + " " + rest);
    }

    /** Decides by the tag: at once, or when it is asked. */
    private static final class Decider implements TransactionListener {
        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
            return message.getTags().equals("later") ? LocalTransactionState.UNKNOW : decided(message);
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            return decided(message);
        }

        private static LocalTransactionState decided(Message message) {
            return message.getTags().equals("rollback") ? LocalTransactionState.ROLLBACK_MESSAGE : LocalTransactionState.COMMIT_MESSAGE;
        }
    }

    private static final class Sender {
        private final String name;
        private final DefaultMQProducer producer;
        private final TransactionMQProducer transactions;
        private final AtomicInteger underWay = new AtomicInteger();

        Sender(String namesrv, String name, int pace) throws Exception {
            this.name = name;
            producer = hurried(new DefaultMQProducer("GSoak"), namesrv, name, pace);
            transactions = hurried(new TransactionMQProducer("GSoakTransactions"), namesrv, name, pace);
            transactions.setTransactionListener(new Decider());
            producer.start();
            transactions.start();
        }

        void shutdown() {
            producer.shutdown();
            transactions.shutdown();
        }

        void send(int number) {
            String kind = KINDS[number % KINDS.length];
            String id = name + "-" + kind + "-" + number;
            Message message = message(kind.equals("ordered") ? ORDERED : TOPIC, kind, id);
            try {
                switch (kind) {
                    case "oneway":
                        producer.sendOneway(message);
                        break;
                    case "async":
                        sendAsync(message, id);
                        break;
                    case "batch":
                        sendBatch(id);
                        break;
                    case "transaction":
                        sendTransaction(message, number, id);
                        break;
                    case "ordered":
                        producer.send(message, (queues, it, argument) -> queues.get(number / KINDS.length % queues.size()), null);
                        event("ack", id, "");
                        break;
                    default:
                        message.setDelayTimeLevel(kind.equals("delay") ? 1 + number % 3 : 0);
                        producer.send(message);
                        event("ack", id, "");
                }
            } catch (Exception e) {
                fail(id, e);
            }
        }

        private void sendAsync(Message message, String id) throws Exception {
            underWay.incrementAndGet();
            try {
                producer.send(message, new SendCallback() {
                    @Override
                    public void onSuccess(SendResult result) {
                        event("ack", id, "");
                        underWay.decrementAndGet();
                    }

                    @Override
                    public void onException(Throwable e) {
                        fail(id, e);
                        underWay.decrementAndGet();
                    }
                });
            } catch (Exception e) {
                underWay.decrementAndGet();
                throw e;
            }
        }

        private void sendBatch(String id) throws Exception {
            List<Message> messages = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                messages.add(message(TOPIC, "batch", id + "." + i));
            }
            producer.send(messages);
            messages.forEach(message -> event("ack", message.getKeys(), ""));
        }

        private void sendTransaction(Message message, int number, String id) throws Exception {
            message.setTags(new String[] {"commit", "rollback", "later"}[number / KINDS.length % 3]);
            transactions.sendMessageInTransaction(message, null);
            event(message.getTags().equals("rollback") ? "rolled" : "ack", id, "");
        }

        private static Message message(String topic, String tags, String id) {
            return new Message(topic, tags, id, ("body of " + id).getBytes(StandardCharsets.UTF_8));
        }

        private static void fail(String id, Throwable e) {
            event("fail", id, e.getClass().getSimpleName() + " " + String.valueOf(e.getMessage()).split("\n")[0]);
        }
    }

    static void send(String namesrv, String[] args) throws Exception {
        Sender sender = new Sender(namesrv, args[2], Integer.parseInt(args[3]));
        long gapNanos = 1_000_000_000L / Integer.parseInt(args[4]);
        AtomicBoolean running = new AtomicBoolean(true);
        AtomicBoolean going = new AtomicBoolean();
        AtomicBoolean pausing = new AtomicBoolean();
        Thread thread = new Thread(() -> {
            long next = System.nanoTime();
            for (int number = 0; running.get(); ) {
                next = Math.max(next + gapNanos, System.nanoTime() - gapNanos);
                LockSupport.parkNanos(Math.max(0, next - System.nanoTime()));
                if (going.get()) {
                    sender.send(number++);
                } else if (sender.underWay.get() == 0 && pausing.compareAndSet(true, false)) {
                    Drivers.event("paused");
                }
            }
        }, "soak-sender");
        thread.start();
        Drivers.event("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String command = commands.readLine(); command != null; command = commands.readLine()) {
            going.set(command.equals("go"));
            pausing.set(command.equals("pause"));
            if (command.equals("stop")) {
                running.set(false);
                thread.join();
                sender.shutdown();
                Drivers.event("stopped");
                return;
            }
        }
    }

    static void hear(String namesrv, String[] args) throws Exception {
        String name = args[2];
        int pace = Integer.parseInt(args[3]);
        DefaultMQPullConsumer pulling = hurried(new DefaultMQPullConsumer("GSoakPull-" + name), namesrv, name, pace);
        pulling.start();
        AtomicBoolean running = new AtomicBoolean(true);
        Thread puller = new Thread(() -> pull(pulling, running), "soak-puller");
        puller.start();
        List<DefaultMQPushConsumer> listening = join(namesrv, name, pace, 0);
        Drivers.event("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int lives = 1;
        for (String command = commands.readLine(); command != null; command = commands.readLine()) {
            if (command.equals("join")) {
                listening = join(namesrv, name, pace, lives++);
                Drivers.event("joined");
                continue;
            }
            listening.forEach(DefaultMQPushConsumer::shutdown);
            listening = List.of();
            Drivers.event("left");
            if (command.equals("stop")) {
                running.set(false);
                puller.join();
                pulling.shutdown();
                Drivers.event("stopped");
                return;
            }
        }
    }

    /** In each life under another name, which remembers nothing of what broadcasts the one before has heard. */
    private static List<DefaultMQPushConsumer> join(String namesrv, String name, int pace, int life) throws Exception {
        String instance = name + "-" + life;
        List<DefaultMQPushConsumer> consumers = List.of(
            concurrent(consumer("GSoakConcurrent", namesrv, instance, pace)),
            orderly(consumer("GSoakOrderly", namesrv, instance, pace)),
            broadcast(consumer("GSoakBroadcast", namesrv, instance, pace), name));
        for (DefaultMQPushConsumer consumer : consumers) {
            consumer.start();
        }
        return consumers;
    }

    private static DefaultMQPushConsumer consumer(String group, String namesrv, String name, int pace) {
        DefaultMQPushConsumer consumer = hurried(new DefaultMQPushConsumer(group), namesrv, name, pace);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setMaxReconsumeTimes(MAX_RECONSUME_TIMES);
        return consumer;
    }

    /** One in twenty fails at first, one in two hundred always. */
    private static DefaultMQPushConsumer concurrent(DefaultMQPushConsumer consumer) throws Exception {
        consumer.subscribe(TOPIC, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            MessageExt message = messages.get(0);
            int lot = Math.floorMod(message.getKeys().hashCode(), 200);
            int times = message.getReconsumeTimes();
            boolean again = lot == 0 ? times < MAX_RECONSUME_TIMES : lot % 20 == 0 && times == 0;
            event(again ? "again" : "recv", "GSoakConcurrent", message.getKeys());
            context.setDelayLevelWhenNextConsume(1);
            return again || lot == 0 ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        return consumer;
    }

    private static DefaultMQPushConsumer orderly(DefaultMQPushConsumer consumer) throws Exception {
        consumer.subscribe(ORDERED, "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            MessageExt message = messages.get(0);
            boolean again = Math.floorMod(message.getKeys().hashCode(), 20) == 0 && message.getReconsumeTimes() == 0;
            event(again ? "again" : "recv", "GSoakOrderly", message.getKeys());
            context.setSuspendCurrentQueueTimeMillis(100);
            return again ? ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT : ConsumeOrderlyStatus.SUCCESS;
        });
        return consumer;
    }

    private static DefaultMQPushConsumer broadcast(DefaultMQPushConsumer consumer, String name) throws Exception {
        Lab.broadcasting(consumer);
        consumer.subscribe(TOPIC, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            event("recv", "GSoakBroadcast-" + name, messages.get(0).getKeys());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        return consumer;
    }

    /** Asks every queue in turn, as a program with its own loop does; what fails is asked again. */
    private static void pull(DefaultMQPullConsumer consumer, AtomicBoolean running) {
        Map<MessageQueue, Long> offsets = new HashMap<>();
        while (running.get()) {
            LockSupport.parkNanos(100_000_000);
            try {
                for (MessageQueue queue : consumer.fetchSubscribeMessageQueues(TOPIC)) {
                    pull(consumer, queue, offsets);
                }
            } catch (Exception noRouteNow) {
                // There is one soon.
            }
        }
    }

    private static void pull(DefaultMQPullConsumer consumer, MessageQueue queue, Map<MessageQueue, Long> offsets) {
        try {
            PullResult result;
            do {
                result = consumer.pull(queue, "*", offsets.getOrDefault(queue, 0L), 32);
                if (result.getPullStatus() == PullStatus.FOUND) {
                    result.getMsgFoundList().forEach(message -> event("recv", consumer.getConsumerGroup(), message.getKeys()));
                }
                offsets.put(queue, result.getNextBeginOffset());
                consumer.updateConsumeOffset(queue, result.getNextBeginOffset());
            } while (result.getPullStatus() == PullStatus.FOUND);
        } catch (Exception brokerIsAway) {
            // It comes back.
        }
    }
}
