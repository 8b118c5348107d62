package conformance;

import static conformance.Drivers.event;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.AckResult;
import org.apache.rocketmq.client.consumer.AckStatus;
import org.apache.rocketmq.client.consumer.PopResult;
import org.apache.rocketmq.client.consumer.PopStatus;
import org.apache.rocketmq.client.impl.mqclient.DoNothingClientRemotingProcessor;
import org.apache.rocketmq.client.impl.mqclient.MQClientAPIExt;
import org.apache.rocketmq.common.constant.ConsumeInitMode;
import org.apache.rocketmq.common.filter.ExpressionType;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.protocol.header.AckMessageRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.PopMessageRequestHeader;

/**
 * How many messages a second are popped, one by one, and acknowledged, by threads that each wait for their answer.
 *
 * <p>{@code Pops BROKER TOPIC GROUP QUEUE THREADS WARM_UP_S MEASURED_S}: {@code ready}, then {@code rates POPS ACKS POPPED}, of
 * which the last one counts the messages of the warm-up too. The client is the one that RocketMQ's proxy has for brokers of
 * 5.5.0; only a build with -Dbenchmark has this class.
 */
public final class Pops {
    private static final String BROKER_NAME = "broker-a";
    private static final long INVISIBLE_MS = 300_000; // nothing comes again
    private static final long POLL_MS = 5_000;
    private static final long TIMEOUT_MS = 30_000;

    private final MQClientAPIExt client;
    private final String broker;
    private final String topic;
    private final String group;
    private final int queue;
    private final int threads;
    private final ExecutorService pool;
    private final Queue<MessageExt> out = new ConcurrentLinkedQueue<>();

    private Pops(String[] args) {
        broker = args[0];
        topic = args[1];
        group = args[2];
        queue = Integer.parseInt(args[3]);
        threads = Integer.parseInt(args[4]);
        pool = Executors.newFixedThreadPool(threads);
        client = new MQClientAPIExt(new ClientConfig(), new NettyClientConfig(), new DoNothingClientRemotingProcessor(null), null);
        client.start();
    }

    public static void main(String[] args) {
        int status = 0;
        try {
            Pops pops = new Pops(args);
            event("ready");
            pops.measure(Long.parseLong(args[5]), Long.parseLong(args[6]));
        } catch (Throwable failure) {
            failure.printStackTrace();
            status = 1;
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private void measure(long warmUpS, long measuredS) throws Exception {
        Counted early = during(warmUpS, this::pop);
        during(warmUpS, this::acknowledge);
        out.clear(); // what is left of it: the measurement acknowledges what it has popped
        Counted popped = during(measuredS, this::pop);
        Counted acknowledged = during(measuredS, this::acknowledge);
        event("rates " + popped.perSecond() + " " + acknowledged.perSecond() + " " + (early.count + popped.count));
    }

    /** Calls a step by all threads for some seconds, or until it has nothing more to do. */
    private Counted during(long seconds, Callable<Integer> step) throws Exception {
        AtomicLong count = new AtomicLong();
        long begin = System.nanoTime();
        long end = begin + seconds * 1_000_000_000L;
        List<Future<?>> running = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            running.add(pool.submit(() -> {
                while (System.nanoTime() < end) {
                    int done = step.call();
                    if (done < 0) {
                        break;
                    }
                    count.addAndGet(done);
                }
                return null;
            }));
        }
        for (Future<?> one : running) {
            one.get();
        }
        return new Counted(count.get(), System.nanoTime() - begin);
    }

    /** Pops one message; returns how many it got: none where others were quicker for as long as it waits. */
    private int pop() throws Exception {
        PopMessageRequestHeader header = new PopMessageRequestHeader();
        header.setConsumerGroup(group);
        header.setTopic(topic);
        header.setQueueId(queue);
        header.setMaxMsgNums(1);
        header.setInvisibleTime(INVISIBLE_MS);
        header.setPollTime(POLL_MS);
        header.setBornTime(System.currentTimeMillis());
        header.setInitMode(ConsumeInitMode.MIN);
        header.setExpType(ExpressionType.TAG);
        header.setExp("*");
        PopResult result = client.popMessageAsync(broker, BROKER_NAME, header, TIMEOUT_MS).get();
        if (result.getPopStatus() != PopStatus.FOUND) {
            return 0;
        }
        out.addAll(result.getMsgFoundList());
        return result.getMsgFoundList().size();
    }

    private int acknowledge() throws Exception {
        MessageExt message = out.poll();
        if (message == null) {
            return -1;
        }
        AckMessageRequestHeader header = new AckMessageRequestHeader();
        header.setConsumerGroup(group);
        header.setTopic(topic);
        header.setQueueId(message.getQueueId());
        header.setOffset(message.getQueueOffset());
        header.setExtraInfo(message.getProperty(MessageConst.PROPERTY_POP_CK));
        AckResult result = client.ackMessageAsync(broker, header, TIMEOUT_MS).get();
        if (result.getStatus() != AckStatus.OK) {
            throw new IllegalStateException("an acknowledgement was refused: " + result);
        }
        return 1;
    }

    /** How often something was done, and in which time. */
    private static final class Counted {
        private final long count;
        private final long nanos;

        private Counted(long count, long nanos) {
            this.count = count;
            this.nanos = nanos;
        }

        private double perSecond() {
            return 1e9 * count / nanos;
        }
    }
}
