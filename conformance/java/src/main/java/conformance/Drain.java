package conformance;

import static conformance.Drivers.event;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * How fast a whole topic is read, again and again in one JVM.
 *
 * <p>{@code drain TOPIC GROUP}: {@code ready}, then for each line on stdin every queue is pulled from its first message to its
 * last, by a thread of its own, and {@code drained MESSAGES BYTES MICROS} tells how many bytes of bodies there were. Of Java's
 * consumers this is the fastest: a push consumer shares out queues first, and hands messages on to other threads.
 */
final class Drain {
    private static final int AT_ONCE = 32; // more no broker gives
    private static final Executor THREADS = task -> new Thread(task).start();

    private Drain() {
    }

    static void measure(String namesrv, String[] args) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(args[3]);
        consumer.setNamesrvAddr(namesrv);
        consumer.start();
        event("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        while (commands.readLine() != null) {
            AtomicLong messages = new AtomicLong();
            AtomicLong bytes = new AtomicLong();
            long begin = System.nanoTime();
            List<CompletableFuture<Void>> queues = consumer.fetchSubscribeMessageQueues(args[2]).stream()
                .map(queue -> CompletableFuture.runAsync(() -> drain(consumer, queue, messages, bytes), THREADS))
                .collect(Collectors.toList());
            queues.forEach(CompletableFuture::join);
            event("drained " + messages + " " + bytes + " " + (System.nanoTime() - begin) / 1000);
        }
    }

    private static void drain(DefaultMQPullConsumer consumer, MessageQueue queue, AtomicLong messages, AtomicLong bytes) {
        try {
            long offset = consumer.minOffset(queue);
            long end = consumer.maxOffset(queue);
            while (offset < end) {
                PullResult result = consumer.pull(queue, "*", offset, AT_ONCE);
                if (result.getPullStatus() != PullStatus.FOUND) {
                    throw new IllegalStateException(queue + " at " + offset + ": " + result);
                }
                long length = 0;
                for (MessageExt message : result.getMsgFoundList()) {
                    length += message.getBody().length;
                }
                bytes.addAndGet(length);
                messages.addAndGet(result.getMsgFoundList().size());
                offset = result.getNextBeginOffset();
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
