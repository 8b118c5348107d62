package conformance;

import static conformance.Lab.message;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.trace.TraceBean;
import org.apache.rocketmq.client.trace.TraceContext;
import org.apache.rocketmq.client.trace.TraceDataEncoder;
import org.apache.rocketmq.common.message.MessageExt;

/** What clients tell of themselves in the trace topic. */
final class Traces {
    private Traces() {
    }

    /** With the broker's own topic for traces, and with one of ours. */
    static void trace(Lab lab) throws Exception {
        for (String traces : new String[] {null, lab.createTopic("Traces", 2)}) {
            String name = "Trace" + (traces == null ? "System" : "Own");
            String topic = lab.createTopic(name, 1);
            DefaultMQProducer producer = new DefaultMQProducer(lab.group(name), null, true, traces);
            lab.start(producer, name);
            List<SendResult> sent = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                sent.add(producer.send(message(topic, "t" + i, "k" + i)));
            }
            lab.say("traced sends", sent.get(0).getSendStatus() + " traceOn=" + sent.get(0).isTraceOn());
            DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(lab.group(name), null,
                new AllocateMessageQueueAveragely(), true, traces);
            lab.name(consumer, "traced-" + name);
            consumer.setHeartbeatBrokerInterval(1000);
            lab.atEnd(consumer::shutdown);
            Pushes.Ear ear = new Pushes.Ear(consumer, topic, "*").start();
            Lab.await("3 messages", () -> ear.keys().size() == 3);
            String store = traces == null ? "RMQ_SYS_TRACE_TOPIC" : traces;
            List<TraceContext> contexts = new ArrayList<>();
            // 5.x consumers tell nothing of messages whose properties name no region, as 4.9.7 brokers store them.
            Lab.await("all traces", () -> {
                contexts.clear();
                contexts.addAll(contexts(lab, store, sent));
                return contexts.size() >= (Lab.FIVE ? 3 : 9);
            });
            TreeSet<String> told = new TreeSet<>();
            contexts.forEach(context -> told.add(describe(context)));
            told.forEach(one -> lab.say("trace", one));
        }
    }

    private static List<TraceContext> contexts(Lab lab, String store, List<SendResult> sent) throws Exception {
        List<TraceContext> contexts = new ArrayList<>();
        for (var queue : lab.queuesOf(store)) {
            for (MessageExt message : lab.all(queue)) {
                String body = new String(message.getBody(), StandardCharsets.UTF_8);
                for (TraceContext context : TraceDataEncoder.decoderFromTraceDataString(body)) {
                    String id = context.getTraceBeans().get(0).getMsgId();
                    if (sent.stream().anyMatch(result -> result.getMsgId().equals(id))) {
                        contexts.add(context);
                    }
                }
            }
        }
        return contexts;
    }

    private static String describe(TraceContext context) {
        TraceBean bean = context.getTraceBeans().get(0);
        return context.getTraceType() + " " + bean.getKeys() + " topic=" + bean.getTopic() + " tags=" + bean.getTags() + " group="
            + context.getGroupName() + " region=" + context.getRegionId() + " length=" + bean.getBodyLength() + " type="
            + bean.getMsgType() + " success=" + context.isSuccess() + " code=" + context.getContextCode() + " retries="
            + bean.getRetryTimes() + " storeHost=" + bean.getStoreHost();
    }
}
