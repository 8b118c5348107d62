package conformance;

import static conformance.Lab.queue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Long-lived clients that a test steers: one command a line on stdin, one event a line on stdout.
 *
 * <p>{@code produce TOPIC GROUP PER_SECOND}: {@code ready}, then {@code ack ID STATUS BROKER QUEUE OFFSET} or
 * {@code fail ID EXCEPTION} for each message; commands {@code go}, {@code pause}, {@code send ID [BYTES [TIMEOUT_MS]]}
 * (a body of so many bytes that cannot be compressed, 0: the id), {@code stop}, and {@code find KEY}, which is answered
 * with {@code found KEY COUNT}.
 *
 * <p>{@code consume TOPIC GROUP EXPRESSION INSTANCE [orderly]}: {@code ready}, then
 * {@code recv EPOCH_MS ID BROKER QUEUE OFFSET RECONSUME_TIMES}, with {@code damaged} behind it where the body is not
 * that of its checksum; commands {@code assigned} (answer
 * {@code assigned BROKER:QUEUE ...}), {@code stop}, {@code halt}.
 *
 * <p>{@code stop} shuts the client down and prints {@code stopped}; the end of stdin is a {@code halt}: no clean-up.
 */
final class Drivers {
    private Drivers() {
    }

    static void event(String line) {
        synchronized (System.out) {
            System.out.println(line);
            System.out.flush();
        }
    }

    static void produce(String namesrv, String[] args) throws Exception {
        String topic = args[2];
        long gapNanos = 1_000_000_000L / Long.parseLong(args[4]);
        DefaultMQProducer producer = new DefaultMQProducer(args[3]);
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName("driver");
        Lab.patient(producer);
        producer.start();
        findRoute(producer, topic);
        AtomicBoolean running = new AtomicBoolean(true);
        AtomicBoolean going = new AtomicBoolean(false);
        Thread sender = new Thread(() -> {
            long next = System.nanoTime();
            for (int i = 0; running.get(); ) {
                next = Math.max(next + gapNanos, System.nanoTime() - gapNanos);
                pauseUntil(next);
                if (going.get()) {
                    String id = String.format("id-%06d", i++);
                    send(producer, topic, id, bytes(id), producer.getSendMsgTimeout());
                }
            }
        }, "driver-sender");
        sender.start();
        event("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String command = commands.readLine(); command != null; command = commands.readLine()) {
            if (command.equals("go") || command.equals("pause")) {
                going.set(command.equals("go"));
            } else if (command.startsWith("send ")) {
                String[] words = command.split(" ");
                int bytes = words.length > 2 ? Integer.parseInt(words[2]) : 0;
                long timeout = words.length > 3 ? Long.parseLong(words[3]) : producer.getSendMsgTimeout();
                send(producer, topic, words[1], bytes == 0 ? bytes(words[1]) : noise(bytes), timeout);
            } else if (command.startsWith("find ")) {
                find(producer, topic, command.substring(5));
            } else if (command.equals("stop")) {
                running.set(false);
                sender.join();
                producer.shutdown();
                event("stopped");
                return;
            }
        }
    }

    /** Asks for the route first: a send that waits for a busy client's lock in vain takes the default topic's. */
    private static void findRoute(DefaultMQProducer producer, String topic) {
        MQClientInstance client = producer.getDefaultMQProducerImpl().getMqClientFactory();
        for (int quick = 0; quick < 3; ) {
            long began = System.nanoTime();
            if (client.updateTopicRouteInfoFromNameServer(topic)) {
                return;
            }
            // It waited 3 s for the lock, or there is no such topic.
            quick += System.nanoTime() - began < 1_000_000_000L ? 1 : 0;
        }
    }

    static void pauseUntil(long nanos) {
        long wait = nanos - System.nanoTime();
        if (wait > 0) {
            java.util.concurrent.locks.LockSupport.parkNanos(wait);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] noise(int bytes) {
        byte[] body = new byte[bytes];
        new java.util.Random(bytes).nextBytes(body);
        return body;
    }

    private static void send(DefaultMQProducer producer, String topic, String id, byte[] body, long timeout) {
        try {
            SendResult result = producer.send(new Message(topic, "driver", id, body), timeout);
            MessageQueue queue = result.getMessageQueue();
            event("ack " + id + " " + result.getSendStatus() + " " + queue.getBrokerName() + " " + queue.getQueueId()
                + " " + result.getQueueOffset());
        } catch (Exception e) {
            event("fail " + id + " " + e.getClass().getSimpleName() + " " + String.valueOf(e.getMessage()).split("\n")[0]);
        }
    }

    private static void find(DefaultMQProducer producer, String topic, String key) throws InterruptedException {
        int count = 0;
        try {
            count = producer.queryMessage(topic, key, 32, 0, Long.MAX_VALUE).getMessageList().size();
        } catch (MQClientException e) {
            // What it throws where nothing is found.
        }
        event("found " + key + " " + count);
    }

    static void consume(String namesrv, String[] args) throws Exception {
        String topic = args[2];
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(args[3]);
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName(args[5]);
        Lab.patient(consumer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, args[4]);
        if (args.length > 6 && args[6].equals("pop")) {
            Five.popping(consumer);
        }
        if (args.length > 6 && args[6].equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                messages.forEach(message -> received(message, context.getMessageQueue()));
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                messages.forEach(message -> received(message, context.getMessageQueue()));
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
        event("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String command = commands.readLine(); command != null; command = commands.readLine()) {
            if (command.equals("assigned")) {
                event("assigned " + Lab.queues(Pushes.assigned(consumer, topic)));
            } else if (command.equals("stop")) {
                consumer.shutdown();
                event("stopped");
                return;
            } else if (command.equals("halt")) {
                return;
            }
        }
    }

    private static void received(MessageExt message, MessageQueue queue) {
        event("recv " + System.currentTimeMillis() + " " + message.getKeys() + " " + queue.getBrokerName() + " "
            + queue.getQueueId() + " " + message.getQueueOffset() + " " + message.getReconsumeTimes()
            + (UtilAll.crc32(message.getBody()) == message.getBodyCRC() ? "" : " damaged"));
    }
}
