package conformance;

import static conformance.Lab.message;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Messages found by key, by id and by time. */
final class Queries {
    private Queries() {
    }

    static void query(Lab lab) throws Exception {
        String topic = lab.createTopic("Query", 2);
        DefaultMQProducer producer = lab.producer("Query");
        long begin = System.currentTimeMillis() - 60_000;
        long end = begin + 3_600_000;
        List<SendResult> sent = new ArrayList<>();
        String[] keys = {"one", "one two", "two", "AaAa", "BBBB", "three", "big"};
        for (int i = 0; i < keys.length; i++) {
            Message message = new Message(topic, "t", keys[i], keys[i].equals("big") ? new byte[8192] : ("body " + i).getBytes());
            sent.add(producer.send(message, new MessageQueue(topic, i % 2 == 0 ? "broker-a" : "broker-b", i / 2 % 2)));
        }
        SendResult batch = producer.send(Arrays.asList(message(topic, "t", "b1"), message(topic, "t", "b2")),
            new MessageQueue(topic, "broker-a", 0));
        lab.stored(topic, keys.length + 2);
        // The index follows the log: ask for what was sent last on each broker until it is found.
        for (String last : new String[] {"b2", "three"}) {
            Lab.await("index", () -> found(() -> producer.queryMessage(topic, last, 32, begin, end).getMessageList()));
        }
        for (String key : new String[] {"one", "two", "three", "big", "b1", "b2"}) {
            for (MessageExt message : Lab.byKey(producer.queryMessage(topic, key, 32, begin, end).getMessageList())) {
                lab.say("by key " + key, "id=" + idOf(message, sent, batch) + " " + lab.describe(message));
            }
        }
        // Equal hash codes: the client leaves out what only has the other's hash.
        lab.sayFailure("by key AaAa", () -> Lab.keys(producer.queryMessage(topic, "AaAa", 32, begin, end).getMessageList()));
        lab.sayFailure("one at most", () -> producer.queryMessage(topic, "one", 1, begin, end).getMessageList().size());
        lab.sayFailure("none at all", () -> producer.queryMessage(topic, "one", 0, begin, end).getMessageList().size());
        lab.sayFailure("no such key", () -> producer.queryMessage(topic, "none", 32, begin, end).getMessageList());
        lab.sayFailure("another case", () -> producer.queryMessage(topic, "ONE", 32, begin, end).getMessageList());
        lab.sayFailure("before its time", () -> producer.queryMessage(topic, "one", 32, 0, begin).getMessageList());
        lab.sayFailure("after its time", () -> producer.queryMessage(topic, "one", 32, end, end + 1).getMessageList());
        lab.sayFailure("no such topic", () ->
            producer.queryMessage(lab.topic("Nowhere"), "one", 32, begin, end).getMessageList());
        String other = lab.createTopic("QueryOther", 1);
        lab.sayFailure("another topic", () -> producer.queryMessage(other, "one", 32, begin, end).getMessageList());

        for (int i : new int[] {0, 3, 6}) {
            SendResult result = sent.get(i);
            sayViewed(lab, "by unique key", () -> producer.viewMessage(topic, result.getMsgId()));
            sayViewed(lab, "by offset id", () -> producer.viewMessage(topic, result.getOffsetMsgId()));
        }
        for (String id : batch.getMsgId().split(",")) {
            sayViewed(lab, "batch by unique key", () -> producer.viewMessage(topic, id));
        }
        for (String id : batch.getOffsetMsgId().split(",")) {
            sayViewed(lab, "batch by offset id", () -> producer.viewMessage(topic, id));
        }
        DefaultMQAdminExt admin = lab.admin();
        sayViewed(lab, "by the admin", () -> admin.viewMessage(topic, sent.get(1).getMsgId()));
        String offsetId = sent.get(0).getOffsetMsgId();
        sayViewed(lab, "offset id of nothing", () -> admin.viewMessage(topic, offsetId.substring(0, 16) + "00000000FFFFFFFF"));
        sayViewed(lab, "unknown unique key", () -> admin.viewMessage(topic, sent.get(0).getMsgId().replaceAll(".{4}$", "FFFF")));
        sayViewed(lab, "no id", () -> admin.viewMessage(topic, "no-id"));
    }

    private static String idOf(MessageExt message, List<SendResult> sent, SendResult batch) {
        for (int i = 0; i < sent.size(); i++) {
            if (sent.get(i).getMsgId().equals(message.getMsgId())) {
                return "of " + i;
            }
        }
        return "of batch " + Arrays.asList(batch.getMsgId().split(",")).indexOf(message.getMsgId());
    }

    private static boolean found(Callable<List<MessageExt>> query) {
        try {
            return !query.call().isEmpty();
        } catch (Exception notYet) {
            return false;
        }
    }

    private static void sayViewed(Lab lab, String key, Callable<MessageExt> view) {
        lab.sayFailure(key, () -> {
            MessageExt message = view.call();
            return message == null ? "null" : lab.describe(message);
        });
    }
}
