import com.alibaba.fastjson.JSON;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.filter.FilterAPI;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageId;

/** Prints what java_formats.txt holds; how to run it stands there. */
public class FormatCases {
    public static void main(String[] args) throws Exception {
        for (String born : new String[] {"10.0.0.7", "2001:db8::7"}) {
            for (String store : new String[] {"127.0.0.1", "::1"}) {
                record(born, store);
            }
        }
        Message one = message("first", "KEYS", "k1 k2", "TAGS", "TagA", "WAIT", "true");
        Message two = message("日本語");
        two.setFlag(-3);
        System.out.println("batch " + UtilAll.bytes2string(MessageDecoder.encodeMessages(Arrays.asList(one, two))));
        for (String text : new String[] {"*", "", "a", "a || b", "b||a ||  || c", "TagA||TagB||TagC||TagD||TagE", " || "}) {
            String json = JSON.toJSONString(FilterAPI.buildSubscriptionData("T", text));
            System.out.println("subscription " + JSON.toJSONString(text) + " "
                + json.replaceAll("\"subVersion\":\\d+", "\"subVersion\":0"));
        }
        for (String id : new String[] {"0A0000072345" + "18B4AAC200001234" + "0001",
            "20010DB8000000000000000000000007" + "F345" + "18B4AAC200001234" + "0001"}) {
            System.out.println("unique " + id + " "
                + InetAddress.getByAddress(MessageClientIDSetter.getIPFromID(id)).getHostAddress()
                + " " + MessageClientIDSetter.getPidFromID(id));
        }
        MessageId decoded = MessageDecoder.decodeMessageId("7F00000100002A9F000000000000ABCD");
        System.out.println("offset 7F00000100002A9F000000000000ABCD " + decoded.getAddress() + " " + decoded.getOffset());
    }

    static void record(String born, String store) throws Exception {
        MessageExt message = new MessageExt();
        message.setTopic("TopicTest");
        message.setBody("hello 日本".getBytes("UTF-8"));
        message.setBodyCRC(UtilAll.crc32(message.getBody()));
        Map<String, String> properties = new LinkedHashMap<>();
        properties.put("UNIQ_KEY", "7F0000010000");
        properties.put("TAGS", "é");
        MessageAccessor.setProperties(message, properties);
        message.setQueueId(3);
        message.setFlag(9);
        message.setQueueOffset(12345678901L);
        message.setCommitLogOffset(98765432109L);
        message.setSysFlag(8);
        message.setBornTimestamp(1700000000001L);
        message.setBornHost(new InetSocketAddress(InetAddress.getByName(born), 50001));
        message.setStoreTimestamp(1700000000002L);
        message.setStoreHost(new InetSocketAddress(InetAddress.getByName(store), 10911));
        if (born.contains(":")) {
            message.setBornHostV6Flag();
        }
        if (store.contains(":")) {
            message.setStoreHostAddressV6Flag();
        }
        message.setReconsumeTimes(2);
        message.setPreparedTransactionOffset(77);
        System.out.println("record " + born + " " + store + " "
            + MessageDecoder.createMessageId(message.getStoreHost(), message.getCommitLogOffset()) + " "
            + UtilAll.bytes2string(MessageDecoder.encode(message, false)));
    }

    static Message message(String body, String... properties) throws Exception {
        Message message = new Message();
        message.setBody(body.getBytes("UTF-8"));
        for (int at = 0; at < properties.length; at += 2) {
            MessageAccessor.putProperty(message, properties[at], properties[at + 1]);
        }
        return message;
    }
}
