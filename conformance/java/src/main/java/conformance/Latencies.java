package conformance;

import static conformance.Drivers.event;

import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.IntStream;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * How long single messages take, one after another at a rate far below what brokers can do.
 *
 * <p>{@code latencies TOPIC GROUP PER_SECOND WARM_UP COUNT}: {@code ready} once a first message has arrived, then after
 * WARM_UP + COUNT messages of 128 bytes {@code sends MICROS ...} (call to result) and {@code arrivals MICROS ...} (call to
 * listener) of the last COUNT.
 */
final class Latencies {
    private static final int BODY_BYTES = 128;
    private static final int FIRST = -1;

    private Latencies() {
    }

    static void measure(String namesrv, String[] args) throws Exception {
        String topic = args[2];
        long gapNanos = 1_000_000_000L / Long.parseLong(args[4]);
        int warmUp = Integer.parseInt(args[5]);
        int all = warmUp + Integer.parseInt(args[6]);
        AtomicLongArray sends = new AtomicLongArray(all);
        AtomicLongArray arrivals = new AtomicLongArray(all);
        CountDownLatch missing = new CountDownLatch(all);
        CountDownLatch consuming = new CountDownLatch(1);

        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(args[3]);
        consumer.setNamesrvAddr(namesrv);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            long now = System.nanoTime();
            for (MessageExt message : messages) {
                ByteBuffer body = ByteBuffer.wrap(message.getBody());
                int index = body.getInt();
                if (index == FIRST) {
                    consuming.countDown();
                } else if (arrivals.compareAndSet(index, 0, now - body.getLong())) {
                    missing.countDown();
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Lab.await("queues", () -> !Pushes.assigned(consumer, topic).isEmpty());
        DefaultMQProducer producer = new DefaultMQProducer(args[3] + "-producer");
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName("producer"); // connections of its own, as in a process of its own
        producer.start();
        // A heartbeat that finds another one on its way is not sent. Until the next one, 30 s later, the broker may
        // refuse each pull, because it knows an older subscription.
        producer.send(new Message(topic, ByteBuffer.allocate(BODY_BYTES).putInt(FIRST).array()));
        await(consuming, 60, "the first message");
        event("ready");

        long next = System.nanoTime();
        for (int i = 0; i < all; i++) {
            Drivers.pauseUntil(next);
            long begin = System.nanoTime();
            byte[] body = ByteBuffer.allocate(BODY_BYTES).putInt(i).putLong(begin).array();
            producer.send(new Message(topic, body));
            long end = System.nanoTime();
            sends.set(i, end - begin);
            next = Math.max(next + gapNanos, end);
        }
        await(missing, 30, "all messages");
        event("sends" + micros(sends, warmUp));
        event("arrivals" + micros(arrivals, warmUp));
    }

    private static void await(CountDownLatch latch, int timeoutSeconds, String what) throws InterruptedException {
        if (!latch.await(timeoutSeconds, TimeUnit.SECONDS)) {
            throw new IllegalStateException(what + ": " + latch.getCount() + " missing after " + timeoutSeconds + " s");
        }
    }

    private static String micros(AtomicLongArray nanos, int from) {
        StringBuilder text = new StringBuilder();
        IntStream.range(from, nanos.length()).forEach(i -> text.append(' ').append(nanos.get(i) / 1000));
        return text.toString();
    }
}
