package conformance;

import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Names, clients and printing for one scenario. Clients are left running: the JVM halts when the scenario is over, and a
 * 5.5.0 client waits seconds for its own thread pools. Scenarios shut down those whose leaving is observed.
 */
final class Lab {
    final String namesrv;
    private final String suffix = System.getProperty("conformance.suffix", "");
    private final Map<String, String> masters = new TreeMap<>();
    private DefaultMQAdminExt admin;
    private DefaultMQPullConsumer reader;

    Lab(String namesrv) {
        this.namesrv = namesrv;
    }

    /** Prints one observation; topics and groups appear without the run's suffix, ports not at all. */
    void say(String key, Object value) {
        String text = key + ": " + value;
        if (!suffix.isEmpty()) {
            text = text.replace(suffix, "");
        }
        System.out.println("= " + text.replaceAll("127\\.0\\.0\\.1:\\d+", "127.0.0.1:PORT").replace('\n', ' '));
    }

    String topic(String name) {
        return name + suffix;
    }

    String group(String name) {
        return "G" + name + suffix;
    }

    DefaultMQProducer producer(String name) throws MQClientException {
        DefaultMQProducer producer = new DefaultMQProducer(group(name));
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName("producer-" + name);
        // A JVM that shares two cores with a cluster may start slowly; a timeout would turn that into a retry.
        producer.setSendMsgTimeout(10_000);
        producer.start();
        return producer;
    }

    DefaultMQPushConsumer pushConsumer(String group, String instance) {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group(group));
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName(instance);
        // A new share of queues makes a new subscription version, told by a heartbeat that is skipped when another one
        // is under way; pulls are then refused (code 25) until the next, by default 30 s later.
        consumer.setHeartbeatBrokerInterval(1000);
        return consumer;
    }

    DefaultMQPullConsumer pullConsumer(String group) throws MQClientException {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(group(group));
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("pull-" + group);
        consumer.start();
        return consumer;
    }

    /** The reader that scenarios use to look at what is stored; its group is not part of any observation. */
    DefaultMQPullConsumer reader() throws MQClientException {
        if (reader == null) {
            reader = pullConsumer("Reader");
        }
        return reader;
    }

    /** Master addresses by broker name, as the route of the default topic tells them. */
    Map<String, String> masters() throws Exception {
        if (masters.isEmpty()) {
            MQClientInstance client = reader().getDefaultMQPullConsumerImpl().getRebalanceImpl().getmQClientFactory();
            client.updateTopicRouteInfoFromNameServer("TBW102");
            for (MessageQueue queue : reader().fetchSubscribeMessageQueues("TBW102")) {
                masters.put(queue.getBrokerName(), client.findBrokerAddressInPublish(queue.getBrokerName()));
            }
        }
        return masters;
    }

    /** Creates or changes a topic on every master and waits until its route says so. */
    String createTopic(String name, int queues, int perm) throws Exception {
        if (admin == null) {
            admin = new DefaultMQAdminExt();
            admin.setNamesrvAddr(namesrv);
            admin.setInstanceName("admin");
            admin.start();
        }
        String topic = topic(name);
        for (String address : masters().values()) {
            admin.createAndUpdateTopicConfig(address, new TopicConfig(topic, queues, queues, perm));
        }
        await("route of " + topic, () -> {
            try {
                return (perm & 4) == 0 || queuesOf(topic).size() == queues * masters.size();
            } catch (MQClientException noRouteYet) {
                return false;
            }
        });
        return topic;
    }

    String createTopic(String name, int queues) throws Exception {
        return createTopic(name, queues, 6);
    }

    List<MessageQueue> queuesOf(String topic) throws MQClientException {
        return new ArrayList<>(new TreeSet<>(reader().fetchSubscribeMessageQueues(topic)));
    }

    /** Everything stored in a topic, by queue and offset, once {@code count} messages can be read. */
    List<MessageExt> stored(String topic, int count) throws Exception {
        await(count + " messages in " + topic, () -> total(topic) == count);
        List<MessageExt> all = new ArrayList<>();
        for (MessageQueue queue : queuesOf(topic)) {
            long next = reader().minOffset(queue);
            PullResult result = reader().pull(queue, "*", next, 32);
            while (result.getPullStatus() == PullStatus.FOUND) {
                all.addAll(result.getMsgFoundList());
                result = reader().pull(queue, "*", result.getNextBeginOffset(), 32);
            }
        }
        return all;
    }

    long total(String topic) throws MQClientException {
        long total = 0;
        for (MessageQueue queue : queuesOf(topic)) {
            total += reader().maxOffset(queue);
        }
        return total;
    }

    static Message message(String topic, String tags, String key) {
        return new Message(topic, tags, key, ("body of " + key).getBytes(StandardCharsets.UTF_8));
    }

    static String queue(MessageQueue queue) {
        return queue.getBrokerName() + ":" + queue.getQueueId();
    }

    static String queues(Collection<MessageQueue> queues) {
        TreeSet<String> names = new TreeSet<>();
        queues.forEach(queue -> names.add(queue(queue)));
        return String.join(" ", names);
    }

    static String tally(Collection<?> things) {
        TreeMap<String, Integer> counts = new TreeMap<>();
        things.forEach(thing -> counts.merge(String.valueOf(thing), 1, Integer::sum));
        return counts.toString();
    }

    /** A received message, but for what differs from run to run; of that, whether it agrees with itself. */
    String describe(MessageExt message) throws Exception {
        Map<String, String> properties = new TreeMap<>(message.getProperties());
        String uniqKey = properties.remove("UNIQ_KEY");
        boolean id = Objects.equals(uniqKey, message.getMsgId());
        properties.remove("CONSUME_START_TIME");
        String body = new String(message.getBody(), StandardCharsets.UTF_8);
        InetSocketAddress stored = (InetSocketAddress) message.getStoreHost();
        String master = masters().get(message.getBrokerName());
        boolean storedThere = (stored.getAddress().getHostAddress() + ":" + stored.getPort()).equals(master);
        boolean times = message.getBornTimestamp() <= message.getStoreTimestamp() + 1000;
        return "topic=" + message.getTopic()
            + " body=" + (body.length() > 40 ? body.length() + " bytes" : body)
            // The sum is the stored body's; large bodies are stored compressed.
            + " crcRight=" + (body.length() >= 4096 || UtilAll.crc32(message.getBody()) == message.getBodyCRC())
            + " flag=" + message.getFlag() + " sysFlag=" + message.getSysFlag()
            + " reconsumeTimes=" + message.getReconsumeTimes()
            + " preparedOffset=" + message.getPreparedTransactionOffset()
            // A machine's address family decides the length of the ids it makes.
            + " storeSizeButId=" + (message.getStoreSize() - uniqKey.length())
            + " bornHost=" + ((InetSocketAddress) message.getBornHost()).getAddress().getHostAddress()
            + " storedAtMaster=" + storedThere + " idIsUniqKey=" + id + " timesRight=" + times
            + " properties=" + properties;
    }

    static List<MessageExt> byKey(Collection<MessageExt> messages) {
        List<MessageExt> sorted = new ArrayList<>(messages);
        sorted.sort(Comparator.comparing(MessageExt::getKeys));
        return sorted;
    }

    static Set<String> keys(Collection<MessageExt> messages) {
        Set<String> keys = new TreeSet<>();
        messages.forEach(message -> keys.add(message.getKeys()));
        return keys;
    }

    /** What an action throws, with the parts that no two runs share taken out. */
    void sayFailure(String key, Callable<?> action) {
        try {
            say(key, "no failure, " + action.call());
        } catch (MQBrokerException e) {
            say(key, "MQBrokerException code=" + e.getResponseCode() + " " + e.getErrorMessage());
        } catch (MQClientException e) {
            String line = String.valueOf(e.getMessage()).split("\n")[0];
            say(key, "MQClientException code=" + e.getResponseCode() + " "
                + line.replaceAll("cost \\[\\d+]ms", "cost [N]ms"));
        } catch (Exception e) {
            say(key, e.getClass().getSimpleName() + " " + String.valueOf(e.getMessage()).split("\n")[0]);
        }
    }

    /** Polls: the clients give no event for most of what scenarios wait for. */
    static void await(String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + 30_000_000_000L;
        while (!condition.call()) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("30 s have passed without: " + what);
            }
            Thread.sleep(10);
        }
    }

    /** 5.x moved MessageModel to another package; the same source must compile against both. */
    static void broadcasting(DefaultMQPushConsumer consumer) throws Exception {
        for (Method method : DefaultMQPushConsumer.class.getMethods()) {
            if (method.getName().equals("setMessageModel")) {
                for (Object constant : method.getParameterTypes()[0].getEnumConstants()) {
                    if (constant.toString().equals("BROADCASTING")) {
                        method.invoke(consumer, constant);
                    }
                }
            }
        }
    }
}
