package conformance;

import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;

import org.apache.rocketmq.common.ServiceThread;
import org.apache.rocketmq.remoting.netty.NettyRemotingClient;

/**
 * Wakes the event thread of a client that shuts down.
 *
 * <p>The thread looks at its queue for three seconds at a time, and with 5.5.0 each shutdown waits for it. An interrupt in that
 * wait means one line in the log to a client that does not end.
 */
final class QuickEnd {
    private static final long LOOK_EVERY_MS = 20;

    private QuickEnd() {
    }

    /** Watch all clients of this process. */
    static void begin() {
        Thread thread = new Thread(QuickEnd::watch, "quick end");
        thread.setDaemon(true);
        thread.start();
    }

    private static void watch() {
        try {
            for (;;) {
                Thread.sleep(LOOK_EVERY_MS);
                Map<Thread, StackTraceElement[]> stacks = Thread.getAllStackTraces();
                if (waitsForTheEnd(stacks.values())) {
                    stacks.forEach(QuickEnd::wake);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean waitsForTheEnd(Collection<StackTraceElement[]> stacks) {
        return stacks.stream().anyMatch(one -> isIn(one, NettyRemotingClient.class, "shutdown") && isIn(one, ServiceThread.class, "shutdown"));
    }

    private static void wake(Thread thread, StackTraceElement[] stack) {
        if (thread.getName().startsWith("NettyEventExecutor") && isIn(stack, LinkedBlockingQueue.class, "poll")) {
            thread.interrupt();
        }
    }

    private static boolean isIn(StackTraceElement[] stack, Class<?> type, String method) {
        return Arrays.stream(stack).anyMatch(one -> one.getClassName().equals(type.getName()) && one.getMethodName().equals(method));
    }
}
