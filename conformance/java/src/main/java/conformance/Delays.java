package conformance;

import static conformance.Lab.message;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Messages that come later: by 2 s on the clusters' second level, by 1 s on each of the 17 others. */
final class Delays {
    private static final int[] LEVELS = {99, 2, 1, 0, 1, -1, 18};
    private static final int[] SECONDS = {1, 2, 1, 0, 1, 0, 1};

    private Delays() {
    }

    static void delay(Lab lab) throws Exception {
        String topic = lab.createTopic("Delay", 1);
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        DefaultMQProducer producer = lab.producer("Delay");
        Pushes.Ear ear = new Pushes.Ear(lab.pushConsumer("Delay", "late"), topic, "*").start();
        for (int i = 0; i < LEVELS.length; i++) {
            Message late = message(topic, "t", i + "-by-level-" + LEVELS[i]);
            late.setDelayTimeLevel(LEVELS[i]);
            late.putUserProperty("number", String.valueOf(i));
            SendResult result = producer.send(late, queue);
            lab.say("sent with level " + LEVELS[i], result.getSendStatus() + " " + Lab.queue(result.getMessageQueue()));
        }
        Message timer = message(topic, "t", "timer");
        MessageAccessor.putProperty(timer, "TIMER_DELAY_MS", "2000"); // what 5.x brokers would wait for
        int[] sent = {LEVELS.length};
        lab.sayFailure("sent with a timer of 5.x", () -> { // which they refuse where theirs is off
            SendResult result = producer.send(timer, queue);
            sent[0]++;
            return result.getSendStatus();
        });
        Lab.await("all of them", () -> ear.heard.size() >= sent[0]);
        List<MessageExt> inOrder = new ArrayList<>(ear.heard);
        inOrder.sort(Comparator.comparing(MessageExt::getQueueOffset));
        for (int level : new int[] {1, 2, 18}) {
            lab.say("order of level " + level, inOrder.stream().map(MessageExt::getKeys)
                .filter(key -> key.endsWith("-" + level)).collect(Collectors.toList()));
        }
        for (MessageExt message : Lab.byKey(ear.heard)) {
            String number = message.getUserProperty("number");
            long seconds = number == null ? 0 : SECONDS[Integer.parseInt(number)];
            message.getProperties().remove("MAX_OFFSET");
            lab.say("received", lab.describe(message));
            long waited = message.getStoreTimestamp() - message.getBornTimestamp();
            // A busy machine may be late, a clock may not be early.
            lab.say("waited for its time", waited >= seconds * 1000 && waited < seconds * 1000 + 5000);
        }
        for (int level : new int[] {1, 2, 18}) {
            for (MessageExt message : lab.all(new MessageQueue("SCHEDULE_TOPIC_XXXX", "broker-a", level - 1))) {
                if (topic.equals(message.getProperty("REAL_TOPIC"))) {
                    message.getProperties().remove("MAX_OFFSET"); // others use this queue too
                    lab.say("set aside on queue " + message.getQueueId(), lab.describe(message));
                }
            }
        }
    }
}
