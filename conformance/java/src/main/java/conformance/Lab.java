package conformance;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.consumer.store.ReadOffsetType;
import org.apache.rocketmq.client.consumer.store.RemoteBrokerOffsetStore;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.MQVersion;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Names, clients and printing for one scenario. Clients made here are shut down when the scenario is over, behind its back:
 * a 5.5.0 client waits seconds for its own thread pools. Scenarios shut down those whose leaving is observed.
 */
final class Lab {
    interface Shutdown {
        void run() throws Exception;
    }

    private static final String[] VARYING = {
        "ORIGIN_MESSAGE_ID", "TRAN_PREPARED_QUEUE_OFFSET", "__transactionId__", "CORRELATION_ID", "REPLY_TO_CLIENT", "ARRIVE_TIME",
        "PUSH_REPLY_TIME", "REPLY_MESSAGE_ARRIVE_TIME",
    };
    private static final int PATIENCE_MS = Integer.getInteger("conformance.patience", 15_000);
    static final boolean FIVE = MQVersion.getVersionDesc(MQVersion.CURRENT_VERSION).startsWith("V5");
    private static final ExecutorService CLOSERS = Executors.newCachedThreadPool();

    final String namesrv;
    private final String scenario;
    private final String suffix;
    private final Map<String, String> masters = new TreeMap<>();
    private final Deque<Shutdown> clients = new ConcurrentLinkedDeque<>();
    private DefaultMQAdminExt admin;
    private DefaultMQPullConsumer reader;

    Lab(String namesrv, String scenario, String suffix) {
        this.namesrv = namesrv;
        this.scenario = scenario;
        this.suffix = suffix;
    }

    /** Tells one observation; topics and groups appear without the run's suffix, ports not at all. */
    void say(String key, Object value) {
        String text = (key + ": " + value).replace(suffix, "");
        text = text.replaceAll("127\\.0\\.0\\.1:\\d+", "127.0.0.1:PORT").replaceAll("\\b1\\d{12}\\b", "TIME").replace('\n', ' ');
        Drivers.event("observed " + scenario + " " + text);
    }

    /** Tells why the scenario ended before its time. */
    void fail(Throwable failure) {
        StringWriter trace = new StringWriter();
        failure.printStackTrace(new PrintWriter(trace));
        for (String line : trace.toString().split("\n")) {
            Drivers.event("failed " + scenario + " " + line);
        }
    }

    /** Names a client of this scenario; clients of one name in one JVM would share their connections. */
    void name(ClientConfig client, String name) {
        client.setNamesrvAddr(namesrv);
        client.setInstanceName(name + suffix);
        patient(client);
    }

    /** Lets a client wait through a stall of the machine, which would else be taken for what the cluster did. */
    static void patient(ClientConfig client) {
        client.setMqClientApiTimeout(PATIENCE_MS);
        if (client instanceof DefaultMQProducer) {
            ((DefaultMQProducer) client).setSendMsgTimeout(PATIENCE_MS);
        }
    }

    /** What to do for a client when the scenario is over. */
    void atEnd(Shutdown shutdown) {
        clients.push(shutdown);
    }

    void close() {
        CLOSERS.execute(() -> {
            for (Shutdown shutdown : clients) {
                try {
                    shutdown.run();
                } catch (Exception gone) {
                    // The scenario shut it down, or its broker does not know it any more.
                }
            }
        });
    }

    String topic(String name) {
        return name + suffix;
    }

    String group(String name) {
        return "G" + name + suffix;
    }

    DefaultMQProducer producer(String name) throws MQClientException {
        DefaultMQProducer producer = new DefaultMQProducer(group(name));
        start(producer, name);
        return producer;
    }

    /**
     * A producer whose first look for routes is over: ten milliseconds after its start a client takes for every topic it has
     * sent to that topic's own route, and of one that is being made the name server knows a single broker yet. The thread
     * that looks is the one that beats a second after the start.
     */
    DefaultMQProducer settled(String name) throws Exception {
        DefaultMQProducer producer = producer(name);
        String topic = createTopic("Settled", 1);
        producer.send(new Message(topic, new byte[1]));
        await("heartbeat of " + name, () -> producers(name, topic) == 1);
        return producer;
    }

    /** How many producers a broker of a topic, any, knows of a group. */
    int producers(String group, String topic) throws Exception {
        try {
            return admin().examineProducerConnectionInfo(group(group), topic).getConnectionSet().size();
        } catch (MQBrokerException noneYet) {
            return 0;
        }
    }

    void start(DefaultMQProducer producer, String name) throws MQClientException {
        name(producer, "producer-" + name);
        producer.setHeartbeatBrokerInterval(1000);
        producer.start();
        atEnd(producer::shutdown);
    }

    DefaultMQPushConsumer pushConsumer(String group, String instance) {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group(group));
        name(consumer, instance);
        // A new share of queues makes a new subscription version, told by a heartbeat that is skipped when another one
        // is under way; pulls are then refused (code 25) until the next, by default 30 s later.
        consumer.setHeartbeatBrokerInterval(1000);
        atEnd(consumer::shutdown);
        return consumer;
    }

    DefaultMQPullConsumer pullConsumer(String group) throws MQClientException {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(group(group));
        name(consumer, "pull-" + group);
        consumer.start();
        atEnd(consumer::shutdown);
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

    DefaultMQAdminExt admin() throws MQClientException {
        if (admin == null) {
            admin = new DefaultMQAdminExt(PATIENCE_MS);
            name(admin, "admin");
            admin.start();
            atEnd(admin::shutdown);
        }
        return admin;
    }

    /** Creates or changes a topic on every master and waits until its route says so. */
    String createTopic(String name, int queues, int perm) throws Exception {
        return createTopic(name, queues, perm, masters().keySet());
    }

    String createTopic(String name, int queues) throws Exception {
        return createTopic(name, queues, 6);
    }

    String createTopic(String name, int queues, int perm, Collection<String> brokers) throws Exception {
        String topic = topic(name);
        for (String broker : brokers) {
            admin().createAndUpdateTopicConfig(masters().get(broker), new TopicConfig(topic, queues, queues, perm));
        }
        await("route of " + topic, () -> (perm & 4) == 0 || routed(() -> queuesOf(topic).size() == queues * brokers.size()));
        return topic;
    }

    /** Whether something holds; not, while there is no route to ask about it. */
    static boolean routed(Callable<Boolean> condition) throws Exception {
        try {
            return condition.call();
        } catch (MQClientException noRouteYet) {
            return false;
        }
    }

    /** Creates or changes a group on every master; 5.x moved its config to another package. */
    void createGroup(String name, boolean consumeEnable) throws Exception {
        for (Method method : DefaultMQAdminExt.class.getMethods()) {
            if (method.getName().equals("createAndUpdateSubscriptionGroupConfig")) {
                Object config = method.getParameterTypes()[1].getConstructor().newInstance();
                config.getClass().getMethod("setGroupName", String.class).invoke(config, group(name));
                config.getClass().getMethod("setConsumeEnable", boolean.class).invoke(config, consumeEnable);
                for (String address : masters().values()) {
                    method.invoke(admin(), address, config);
                }
            }
        }
    }

    /** What the broker holds of a group's offset, asked by one who is no member and remembers nothing of the answer. */
    long committed(String group, MessageQueue queue) throws MQClientException {
        MQClientInstance client = reader().getDefaultMQPullConsumerImpl().getRebalanceImpl().getmQClientFactory();
        return new RemoteBrokerOffsetStore(client, group(group)).readOffset(queue, ReadOffsetType.READ_FROM_STORE);
    }

    /** The sum of a group's offsets. */
    long committed(String group, String topic) throws MQClientException {
        long sum = 0;
        for (MessageQueue queue : queuesOf(topic)) {
            sum += committed(group, queue);
        }
        return sum;
    }

    /** What the broker holds of a group's subscriptions. */
    String subscriptions(String group) throws Exception {
        TreeMap<String, String> subscriptions = new TreeMap<>();
        admin().examineConsumerConnectionInfo(group(group)).getSubscriptionTable().forEach((topic, subscription) ->
            subscriptions.put(topic, subscription.getExpressionType() + " " + subscription.getSubString() + " "
                + new TreeSet<>(subscription.getTagsSet()) + " " + new TreeSet<>(subscription.getCodeSet())));
        return subscriptions.toString();
    }

    List<MessageQueue> queuesOf(String topic) throws MQClientException {
        return new ArrayList<>(new TreeSet<>(reader().fetchSubscribeMessageQueues(topic)));
    }

    /** Everything stored in a topic, by queue and offset, once {@code count} messages can be read. */
    List<MessageExt> stored(String topic, int count) throws Exception {
        await(count + " messages in " + topic, () -> routed(() -> total(topic) == count));
        List<MessageExt> all = new ArrayList<>();
        for (MessageQueue queue : queuesOf(topic)) {
            all.addAll(all(queue));
        }
        return all;
    }

    /** Everything that can be read from a queue; nothing where there is no such queue. */
    List<MessageExt> all(MessageQueue queue) throws Exception {
        List<MessageExt> all = new ArrayList<>();
        try {
            PullResult result = reader().pull(queue, "*", reader().minOffset(queue), 32);
            while (result.getPullStatus() == PullStatus.FOUND) {
                all.addAll(result.getMsgFoundList());
                result = reader().pull(queue, "*", result.getNextBeginOffset(), 32);
            }
        } catch (MQBrokerException noTopicYet) {
            // Some of the broker's own topics are made when they are needed.
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

    /** What a consumer does by itself every 30 s, ask for routes, and every 20 s, share out queues. */
    static void refresh(DefaultMQPushConsumer consumer) {
        MQClientInstance client = consumer.getDefaultMQPushConsumerImpl().getmQClientFactory();
        client.updateTopicRouteInfoFromNameServer();
        client.doRebalance();
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
        String uniqKey = message.getProperties().get("UNIQ_KEY");
        boolean id = Objects.equals(uniqKey, message.getMsgId());
        String body = new String(message.getBody(), StandardCharsets.UTF_8);
        InetSocketAddress stored = (InetSocketAddress) message.getStoreHost();
        String master = message.getBrokerName() == null ? null : masters().get(message.getBrokerName());
        String host = stored.getAddress().getHostAddress() + ":" + stored.getPort();
        // A message that a broker has sent by itself does not tell its name.
        boolean storedThere = master == null ? masters().containsValue(host) : host.equals(master);
        boolean times = message.getBornTimestamp() <= message.getStoreTimestamp() + 1000;
        return "topic=" + message.getTopic()
            + " body=" + (body.length() > 40 ? body.length() + " bytes" : body)
            // The sum is the stored body's; large bodies are stored compressed.
            + " crcRight=" + (body.length() >= 4096 || UtilAll.crc32(message.getBody()) == message.getBodyCRC())
            + " flag=" + message.getFlag() + " sysFlag=" + message.getSysFlag()
            + " reconsumeTimes=" + message.getReconsumeTimes()
            + " prepared=" + (message.getPreparedTransactionOffset() > 0)
            + " storeSize=" + (message.getStoreSize() - varying(message))
            + " bornHost=" + ((InetSocketAddress) message.getBornHost()).getAddress().getHostAddress()
            + " storedAtMaster=" + storedThere + " idIsUniqKey=" + id + " timesRight=" + times
            + " properties=" + properties(message);
    }

    /** Properties without what no two runs or machines share. */
    static Map<String, String> properties(Message message) {
        Map<String, String> properties = new TreeMap<>(message.getProperties());
        properties.remove("UNIQ_KEY");
        properties.remove("CONSUME_START_TIME");
        for (String varying : VARYING) {
            properties.computeIfPresent(varying, (name, value) -> value.isEmpty() ? "" : "SOME");
        }
        return properties;
    }

    /** How many bytes of what is stored are values that no two runs or machines share. */
    private static int varying(MessageExt message) {
        int bytes = message.getProperties().getOrDefault("UNIQ_KEY", "").length();
        for (String varying : VARYING) {
            bytes += message.getProperties().getOrDefault(varying, "").length();
        }
        return bytes;
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
            line = line.replaceAll("cost \\[\\d+]ms", "cost [N]ms").replaceAll("BrokersSent: .*", "BrokersSent: ...");
            String cause = e.getCause() instanceof MQBrokerException
                ? ", caused by code=" + ((MQBrokerException) e.getCause()).getResponseCode() + " "
                    + ((MQBrokerException) e.getCause()).getErrorMessage() : "";
            say(key, "MQClientException code=" + e.getResponseCode() + " " + line + cause);
        } catch (Exception e) {
            String line = String.valueOf(e.getMessage()).split("\n")[0].replaceAll("request-id=[0-9a-f-]+, ", "");
            say(key, e.getClass().getSimpleName() + " " + line);
        }
    }

    /** Polls: the clients give no event for most of what scenarios wait for. */
    static void await(String what, Callable<Boolean> condition) throws Exception {
        await(what, 60, condition);
    }

    /** Look again after 10 ms, later after up to 200: many scenarios wait at once. */
    static void await(String what, int seconds, Callable<Boolean> condition) throws Exception {
        long began = System.nanoTime();
        while (!condition.call()) {
            long waitedMs = (System.nanoTime() - began) / 1_000_000;
            if (waitedMs > seconds * 1_000L) {
                throw new IllegalStateException(seconds + " s have passed without: " + what);
            }
            Thread.sleep(Math.min(10 + waitedMs / 50, 200));
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
