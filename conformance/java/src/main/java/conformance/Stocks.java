package conformance;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.store.OffsetStore;
import org.apache.rocketmq.client.consumer.store.ReadOffsetType;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Fills stores with messages of every kind, and takes stock of them, of one cluster after the other; steered like
 * {@link Drivers}. Messages are for the topics First and Second, of four queues each.
 *
 * <p>{@code load NAMESRV NAME COUNT}: 16 threads send COUNT messages each, or until one fails; {@code ack KIND KEY TOPIC QUEUE OFFSET
 * UNIQUE_ID OFFSET_ID} for each that is stored, half messages too; then {@code loaded}. What is delayed is so by level 2.
 *
 * <p>{@code consume NAMESRV}: a consumer of both topics, with {@code later KEY} for what it sends back, for level 2, and
 * {@code recv KEY TIMES}; and a producer that answers checks. Then {@code consuming}; both are gone with {@code leave} ({@code left}).
 *
 * <p>{@code walk NAMESRV TOPIC ...}: {@code found ...} for every message of the topics, by queue and in order, then {@code walked}.
 */
final class Stocks {
    private static final int THREADS = 16;
    private static final int QUEUES = 4;
    private static final String[] TOPICS = {"First", "Second"};
    private static final String[] KINDS = {
        "plain", "plain", "delay", "plain", "again", "plain", "commit", "plain", "batch", "plain", "rollback", "plain", "later", "plain",
        "compressed", "plain",
    };
    private static final int DELAY_LEVEL = 2;
    /** Wide: an index keeps whole seconds since its first entry, so what is found near the edge depends on the file. */
    private static final int LOOK_MS = 60_000;
    private static final long SETTLE_NS = 10_000_000_000L;

    private static int names;

    private Stocks() {
    }

    private static synchronized <T extends ClientConfig> T at(String namesrv, T client) {
        client.setNamesrvAddr(namesrv);
        client.setInstanceName("stock-" + names++);
        client.setHeartbeatBrokerInterval(1000);
        Lab.patient(client);
        return client;
    }

    static void run() throws Exception {
        Runnable leave = () -> { };
        Drivers.event("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String command = commands.readLine(); command != null; command = commands.readLine()) {
            String[] words = command.split(" ");
            if (words[0].equals("load")) {
                Loader loader = new Loader(words[1], words[2]);
                new Thread(() -> loader.run(Integer.parseInt(words[3]))).start();
            } else if (words[0].equals("consume")) {
                leave = consume(words[1]);
                Drivers.event("consuming");
            } else if (words[0].equals("leave")) {
                leave.run();
                Drivers.event("left");
            } else if (words[0].equals("walk")) {
                walk(words[1], Arrays.asList(words).subList(2, words.length));
                Drivers.event("walked");
            }
        }
    }

    // -- filling ------------------------------------------------------------------------------

    /** Commits and rolls back what says so, and leaves the rest to others. */
    private static LocalTransactionState decide(Message message, LocalTransactionState otherwise) {
        switch (message.getTags()) {
            case "commit":
                return LocalTransactionState.COMMIT_MESSAGE;
            case "rollback":
                return LocalTransactionState.ROLLBACK_MESSAGE;
            default:
                return otherwise;
        }
    }

    private static TransactionMQProducer decider(LocalTransactionState otherwise) {
        TransactionMQProducer producer = new TransactionMQProducer("GStockProducer");
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return decide(message, otherwise);
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return decide(message, otherwise);
            }
        });
        return producer;
    }

    private static final class Loader {
        private final String name;
        private final TransactionMQProducer producer;
        private volatile boolean broken;

        Loader(String namesrv, String name) throws Exception {
            this.name = name;
            producer = at(namesrv, decider(LocalTransactionState.UNKNOW));
            producer.setRetryTimesWhenSendFailed(0);
            producer.start();
        }

        void run(int count) {
            ExecutorService pool = Executors.newFixedThreadPool(THREADS);
            List<Future<?>> threads = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                int it = thread;
                threads.add(pool.submit(() -> send(it, count)));
            }
            try {
                for (Future<?> thread : threads) {
                    thread.get();
                }
            } catch (Exception e) {
                e.printStackTrace();
            }
            pool.shutdown();
            producer.shutdown();
            Drivers.event("loaded");
        }

        private void send(int thread, int count) {
            MessageQueue queue = new MessageQueue(TOPICS[thread % TOPICS.length], "broker-a", thread / TOPICS.length % QUEUES);
            for (int number = 0; number < count && !broken; number++) {
                String kind = KINDS[number % KINDS.length];
                try {
                    send(queue, kind, String.format("%s-%02d-%06d", name, thread, number));
                } catch (Exception e) {
                    broken = true;
                    Drivers.event("fail " + String.valueOf(e.getMessage()).split("\n")[0]);
                }
            }
        }

        private void send(MessageQueue queue, String kind, String key) throws Exception {
            switch (kind) {
                case "batch":
                    List<Message> messages = new ArrayList<>();
                    for (int i = 0; i < 4; i++) {
                        messages.add(message(queue.getTopic(), kind, key + "." + i));
                    }
                    SendResult all = producer.send(messages, queue);
                    String[] ids = all.getMsgId().split(",");
                    String[] offsetIds = all.getOffsetMsgId().split(",");
                    for (int i = 0; i < 4; i++) {
                        ack(kind, key + "." + i, queue, all.getQueueOffset() + i, ids[i], offsetIds[i]);
                    }
                    return;
                case "commit":
                case "rollback":
                case "later":
                    SendResult half = producer.sendMessageInTransaction(message(queue.getTopic(), kind, key), null);
                    ack(kind, key, half.getMessageQueue(), half.getQueueOffset(), half.getMsgId(), half.getOffsetMsgId());
                    return;
                default:
                    Message message = message(queue.getTopic(), kind, key);
                    message.setDelayTimeLevel(kind.equals("delay") ? DELAY_LEVEL : 0);
                    SendResult one = producer.send(message, queue);
                    ack(kind, key, queue, one.getQueueOffset(), one.getMsgId(), one.getOffsetMsgId());
            }
        }

        private static void ack(String kind, String key, MessageQueue queue, long offset, String id, String offsetId) {
            Drivers.event(String.join(" ", "ack", kind, key, queue.getTopic(), String.valueOf(queue.getQueueId()),
                String.valueOf(offset), id, offsetId));
        }
    }

    private static Message message(String topic, String kind, String key) {
        return new Message(topic, kind, key + " " + kind, body(kind, key));
    }

    /** What is large is compressed by the client. */
    private static byte[] body(String kind, String key) {
        return key.repeat(kind.equals("compressed") ? 400 : 5).getBytes(StandardCharsets.UTF_8);
    }

    // -- hearing ------------------------------------------------------------------------------

    private static Runnable consume(String namesrv) throws Exception {
        DefaultMQPushConsumer consumer = at(namesrv, new DefaultMQPushConsumer("GStock"));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        for (String topic : TOPICS) {
            consumer.subscribe(topic, "*");
        }
        Map<MessageQueue, Long> ends = new ConcurrentHashMap<>();
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            MessageExt message = messages.get(0);
            ends.merge(context.getMessageQueue(), message.getQueueOffset() + 1, Math::max);
            String key = message.getKeys().split(" ")[0];
            if ("again".equals(message.getTags()) && message.getReconsumeTimes() == 0) {
                context.setDelayLevelWhenNextConsume(DELAY_LEVEL);
                Drivers.event("later " + key);
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            Drivers.event("recv " + key + " " + message.getReconsumeTimes());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        TransactionMQProducer producer = at(namesrv, decider(LocalTransactionState.COMMIT_MESSAGE));
        consumer.start();
        producer.start();
        producer.fetchPublishMessageQueues(TOPICS[0]); // or it has no broker to tell of itself
        return () -> {
            settle(consumer.getDefaultMQPushConsumerImpl().getOffsetStore(), ends);
            consumer.shutdown();
            producer.shutdown();
        };
    }

    /** Waits until what was received counts as consumed: a shutdown just after the last "recv" would store its offset without it. */
    private static void settle(OffsetStore offsets, Map<MessageQueue, Long> ends) {
        long deadline = System.nanoTime() + SETTLE_NS;
        ends.forEach((queue, end) -> {
            while (offsets.readOffset(queue, ReadOffsetType.READ_FROM_MEMORY) < end && System.nanoTime() < deadline) {
                LockSupport.parkNanos(10_000_000);
            }
        });
    }

    // -- taking stock -------------------------------------------------------------------------

    private static void walk(String namesrv, List<String> topics) throws Exception {
        DefaultMQPullConsumer reader = at(namesrv, new DefaultMQPullConsumer("GStockReader"));
        reader.start();
        ExecutorService pool = Executors.newFixedThreadPool(QUEUES);
        List<Future<?>> walks = new ArrayList<>();
        for (String topic : topics) {
            for (MessageQueue queue : reader.fetchSubscribeMessageQueues(topic)) {
                walks.add(pool.submit(() -> {
                    walk(reader, queue);
                    return null;
                }));
            }
        }
        for (Future<?> walk : walks) {
            walk.get();
        }
        pool.shutdown();
        reader.shutdown();
    }

    private static void walk(DefaultMQPullConsumer reader, MessageQueue queue) throws Exception {
        long end = reader.maxOffset(queue);
        for (long offset = reader.minOffset(queue); offset < end; ) {
            PullResult result = reader.pull(queue, "*", offset, 32);
            if (result.getMsgFoundList() == null) {
                throw new IllegalStateException("nothing at " + offset + " of " + queue + ": " + result);
            }
            for (MessageExt message : result.getMsgFoundList()) {
                found(reader, queue, message);
            }
            offset = result.getNextBeginOffset();
        }
    }

    private static void found(DefaultMQPullConsumer reader, MessageQueue queue, MessageExt message) throws Exception {
        String[] keys = message.getKeys().split(" ");
        long stored = message.getStoreTimestamp();
        // After a crash Java indexes the last record of the last index file that it keeps again.
        TreeSet<Long> byKey = new TreeSet<>();
        try {
            for (MessageExt one : reader.queryMessage(queue.getTopic(), keys[0], 32, stored - LOOK_MS, stored + LOOK_MS).getMessageList()) {
                byKey.add(one.getCommitLogOffset());
            }
        } catch (MQClientException notFound) {
            // As told.
        }
        Drivers.event(String.join(" ", "found", queue.getTopic(), String.valueOf(queue.getQueueId()),
            String.valueOf(message.getQueueOffset()), String.valueOf(message.getCommitLogOffset()), message.getMsgId(),
            ((MessageClientExt) message).getOffsetMsgId(), keys[0], keys[1],
            String.valueOf(Arrays.equals(message.getBody(), body(keys[1], keys[0]))), String.valueOf(message.getSysFlag()),
            String.valueOf(stored), String.valueOf(reader.searchOffset(queue, stored)), byKey.toString().replace(" ", "")));
    }
}
