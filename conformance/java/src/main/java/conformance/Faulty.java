package conformance;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Clients of every kind in one process, each made and used by commands on stdin; what they see goes to stdout.
 *
 * <p>A command is {@code TAG WHAT ARGUMENTS}, handled on a thread of its own; its end is {@code TAG RESULT}, or
 * {@code TAG !EXCEPTION CODE}. Between them come {@code received NAME ID} and {@code checked ID}.
 */
final class Faulty {
    private interface Command {
        String run(String[] words) throws Exception;
    }

    private final Map<String, DefaultMQProducer> producers = new ConcurrentHashMap<>();
    private final Map<String, DefaultMQPushConsumer> consumers = new ConcurrentHashMap<>();
    private final Map<String, DefaultMQAdminExt> admins = new ConcurrentHashMap<>();
    private final Map<String, Command> commands = Map.ofEntries(
        Map.entry("producer", this::producer), Map.entry("send", this::send), Map.entry("transact", this::transact),
        Map.entry("request", this::request), Map.entry("consumer", this::consumer), Map.entry("assigned", this::assigned),
        Map.entry("beat", this::beat), Map.entry("admin", this::admin), Map.entry("route", this::route),
        Map.entry("running", this::running), Map.entry("direct", this::direct), Map.entry("status", this::status),
        Map.entry("reset", this::reset));

    private Faulty() {
    }

    static void run() throws Exception {
        Faulty faulty = new Faulty();
        ExecutorService pool = Executors.newCachedThreadPool();
        Drivers.event("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            pool.execute(() -> Drivers.event(words[0] + " " + faulty.handle(words)));
        }
    }

    private String handle(String[] words) {
        try {
            return commands.get(words[1]).run(java.util.Arrays.copyOfRange(words, 2, words.length));
        } catch (MQBrokerException e) {
            return "!MQBrokerException " + e.getResponseCode();
        } catch (Throwable e) {
            return "!" + e.getClass().getSimpleName() + " " + String.valueOf(e.getMessage()).split("\n")[0];
        }
    }

    /** NAME NAMESRV TIMEOUT_MS RETRIES: a producer, of transactions too; undecided at first, it commits when it is asked. */
    private String producer(String[] words) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("G" + words[0]);
        producer.setInstanceName(words[0]);
        producer.setNamesrvAddr(words[1]);
        producer.setSendMsgTimeout(Integer.parseInt(words[2]));
        producer.setRetryTimesWhenSendFailed(Integer.parseInt(words[3]));
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return LocalTransactionState.UNKNOW;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                Drivers.event("checked " + message.getKeys());
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        producer.start();
        producers.put(words[0], producer);
        return "made";
    }

    private static Message message(String topic, String id) {
        return new Message(topic, "", id, id.getBytes(StandardCharsets.UTF_8));
    }

    private static String sent(SendResult result) {
        MessageQueue queue = result.getMessageQueue();
        return result.getSendStatus() + " " + queue.getBrokerName() + " " + queue.getQueueId() + " " + result.getQueueOffset();
    }

    /** NAME TOPIC ID [BROKER QUEUE]. */
    private String send(String[] words) throws Exception {
        DefaultMQProducer producer = producers.get(words[0]);
        Message message = message(words[1], words[2]);
        if (words.length == 3) {
            return sent(producer.send(message));
        }
        return sent(producer.send(message, new MessageQueue(words[1], words[3], Integer.parseInt(words[4]))));
    }

    /** NAME TOPIC ID: a half message, after which the broker knows the producer. */
    private String transact(String[] words) throws Exception {
        TransactionMQProducer producer = (TransactionMQProducer) producers.get(words[0]);
        SendResult result = producer.sendMessageInTransaction(message(words[1], words[2]), null);
        producer.getDefaultMQProducerImpl().getMqClientFactory().sendHeartbeatToAllBrokerWithLock();
        return sent(result);
    }

    /** NAME TOPIC ID TIMEOUT_MS: a request; its end is the reply. */
    private String request(String[] words) throws Exception {
        Message reply = producers.get(words[0]).request(message(words[1], words[2]), Long.parseLong(words[3]));
        return new String(reply.getBody(), StandardCharsets.UTF_8);
    }

    /** NAME NAMESRV GROUP TOPIC concurrently|orderly|replying [PRODUCER]. */
    private String consumer(String[] words) throws Exception {
        String name = words[0];
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(words[2]);
        consumer.setInstanceName(name);
        consumer.setNamesrvAddr(words[1]);
        Lab.patient(consumer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(words[3], "*");
        if (words[4].equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                messages.forEach(message -> Drivers.event("received " + name + " " + message.getKeys()));
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                for (MessageExt message : messages) {
                    Drivers.event("received " + name + " " + message.getKeys());
                    if (words[4].equals("replying")) {
                        reply(producers.get(words[5]), message);
                    }
                }
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
        consumers.put(name, consumer);
        return consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getmQClientFactory().getClientId();
    }

    private static void reply(DefaultMQProducer producer, MessageExt request) {
        try {
            byte[] body = ("re-" + request.getKeys()).getBytes(StandardCharsets.UTF_8);
            producer.send(MessageUtil.createReplyMessage(request, body));
        } catch (Exception e) {
            Drivers.event("unanswered " + request.getKeys() + " " + e.getClass().getSimpleName());
        }
    }

    /** NAME TOPIC: the queues that a consumer holds. */
    private String assigned(String[] words) {
        return "holds " + Lab.queues(Pushes.assigned(consumers.get(words[0]), words[1]));
    }

    /** NAME: a consumer's heartbeat now, not in 30 s. */
    private String beat(String[] words) {
        consumers.get(words[0]).getDefaultMQPushConsumerImpl().getRebalanceImpl().getmQClientFactory()
            .sendHeartbeatToAllBrokerWithLock();
        return "beaten";
    }

    /** NAME NAMESRV TIMEOUT_MS. */
    private String admin(String[] words) throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt(Long.parseLong(words[2]));
        admin.setInstanceName(words[0]);
        admin.setAdminExtGroup("A" + words[0]);
        admin.setNamesrvAddr(words[1]);
        admin.start();
        admins.put(words[0], admin);
        return "made";
    }

    /** NAME TOPIC: {@code BROKER=QUEUES@ADDRESSES}, sorted. */
    private String route(String[] words) throws Exception {
        var route = admins.get(words[0]).examineTopicRouteInfo(words[1]);
        return route.getQueueDatas().stream().map(queues -> queues.getBrokerName() + "=" + queues.getReadQueueNums() + "@"
            + route.getBrokerDatas().stream().filter(broker -> broker.getBrokerName().equals(queues.getBrokerName()))
                .flatMap(broker -> broker.getBrokerAddrs().values().stream()).sorted().collect(Collectors.joining(",")))
            .sorted().collect(Collectors.joining(" "));
    }

    /** NAME GROUP CLIENT. */
    private String running(String[] words) throws Exception {
        return "runs " + admins.get(words[0]).getConsumerRunningInfo(words[1], words[2], false).getSubscriptionSet().size();
    }

    /** NAME GROUP CLIENT TOPIC MESSAGE. */
    private String direct(String[] words) throws Exception {
        return admins.get(words[0]).consumeMessageDirectly(words[1], words[2], words[3], words[4]).getConsumeResult().toString();
    }

    /** NAME TOPIC GROUP CLIENT. */
    private String status(String[] words) throws Exception {
        return "of " + admins.get(words[0]).getConsumeStatus(words[1], words[2], words[3]).size();
    }

    /** NAME TOPIC GROUP: back to the begin. */
    private String reset(String[] words) throws Exception {
        return "of " + admins.get(words[0]).resetOffsetByTimestamp(words[1], words[2], 0, true).size();
    }
}
