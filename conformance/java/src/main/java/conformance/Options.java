package conformance;

import static conformance.Lab.message;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullCallback;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Settings of clients that brokers notice. */
final class Options {
    private Options() {
    }

    /** Sends and hears some messages with clients as they are given. */
    private static void through(Lab lab, String key, String topic, DefaultMQProducer producer, DefaultMQPushConsumer consumer)
        throws Exception {
        lab.start(producer, key);
        for (int i = 0; i < 8; i++) {
            producer.send(message(topic, "t", "m" + i));
        }
        Pushes.Ear ear = new Pushes.Ear(consumer, topic, "*").start();
        Lab.await("8 messages", () -> ear.keys().size() == 8);
        lab.say(key, ear.keys() + " in " + ear.heard.size());
        MessageExt first = Lab.byKey(ear.heard).get(0);
        first.getProperties().remove("MAX_OFFSET");
        lab.say(key + " first", lab.describe(first));
    }

    static void options(Lab lab) throws Exception {
        // A name space is part of stored names, and not of what its clients see.
        lab.createTopic("NS%Inside", 1);
        DefaultMQProducer insider = new DefaultMQProducer(lab.group("Inside"));
        insider.setNamespace("NS");
        DefaultMQPushConsumer listener = lab.pushConsumer("Inside", "insider");
        listener.setNamespace("NS");
        through(lab, "namespace", lab.topic("Inside"), insider, listener);
        lab.say("stored names", lab.stored(lab.topic("NS%Inside"), 8).get(0).getTopic() + " "
            + lab.admin().queryTopicConsumeByWho(lab.topic("NS%Inside")).getGroupList());

        DefaultMQProducer unit = new DefaultMQProducer(lab.group("Unit"));
        DefaultMQPushConsumer unitConsumer = lab.pushConsumer("Unit", "unit");
        for (ClientConfig client : new ClientConfig[] {unit, unitConsumer}) {
            client.setUnitName("unit");
            client.setUnitMode(true);
            client.setVipChannelEnabled(true);
        }
        through(lab, "unit mode", lab.topic("Unit"), unit, unitConsumer); // makes its topic

        DefaultMQProducer careful = new DefaultMQProducer(lab.group("Careful"));
        careful.setSendLatencyFaultEnable(true);
        careful.setRetryAnotherBrokerWhenNotStoreOK(true);
        DefaultMQPushConsumer small = lab.pushConsumer("Careful", "small");
        small.setPostSubscriptionWhenPull(true);
        small.setPullBatchSize(1);
        small.setPullThresholdForQueue(1);
        small.setConsumeThreadMin(1);
        small.setConsumeThreadMax(1);
        through(lab, "small steps", lab.createTopic("Careful", 1), careful, small);

        String circle = lab.createTopic("Circle", 3);
        List<Pushes.Ear> ears = new ArrayList<>();
        for (int i = 1; i <= 2; i++) {
            DefaultMQPushConsumer consumer = lab.pushConsumer("Circle", "circle-" + i);
            consumer.setAllocateMessageQueueStrategy(new AllocateMessageQueueAveragelyByCircle());
            ears.add(new Pushes.Ear(consumer, circle, "*").start());
        }
        Lab.await("halves", () -> ears.stream().allMatch(ear -> Pushes.assigned(ear.consumer, circle).size() == 3));
        for (Pushes.Ear ear : ears) {
            lab.say("shared out in a circle", ear.share(circle));
        }
        pullAsync(lab);
        if (Lab.FIVE) {
            five(lab);
        }
    }

    private static void pullAsync(Lab lab) throws Exception {
        String topic = lab.createTopic("AsyncPull", 1);
        MessageQueue queue = new MessageQueue(topic, "broker-a", 0);
        DefaultMQProducer producer = lab.producer("AsyncPull");
        DefaultMQPullConsumer consumer = lab.pullConsumer("AsyncPull");
        lab.say("sent", producer.send(message(topic, "t", "k"), queue).getSendStatus());
        Lab.await("a message", () -> consumer.maxOffset(queue) == 1);
        for (String kind : new String[] {"found", "held", "refused"}) {
            CompletableFuture<PullResult> future = new CompletableFuture<>();
            PullCallback callback = new PullCallback() {
                @Override
                public void onSuccess(PullResult result) {
                    future.complete(result);
                }

                @Override
                public void onException(Throwable e) {
                    future.completeExceptionally(e);
                }
            };
            if (kind.equals("found")) {
                consumer.pull(queue, "*", 0, 32, callback, 10_000);
            } else if (kind.equals("held")) {
                consumer.pullBlockIfNotFound(queue, "*", 1, 32, callback);
                producer.send(message(topic, "t", "later"), queue);
            } else {
                consumer.pull(new MessageQueue(topic, "broker-a", 5), "*", 0, 32, callback);
            }
            lab.sayFailure("asynchronous pull, " + kind, () -> {
                try {
                    PullResult result = future.get(20, TimeUnit.SECONDS);
                    return result.getPullStatus() + " " + Lab.keys(result.getMsgFoundList());
                } catch (ExecutionException e) {
                    throw (Exception) e.getCause();
                }
            });
        }
    }

    /** What only 5.x clients can be told, by names that 4.9.7 does not have. */
    private static void five(Lab lab) throws Exception {
        DefaultMQProducer batching = new DefaultMQProducer(lab.group("Five"));
        DefaultMQPushConsumer consumer = lab.pushConsumer("Five", "five");
        set(consumer, "setUseHeartbeatV2", true);
        set(batching, "setSendLatencyEnable", true);
        set(batching, "setStartDetectorEnable", true);
        String topic = lab.createTopic("Five", 1);
        through(lab, "heartbeats of 5.x", topic, batching, consumer);
        set(batching, "setAutoBatch", true);
        ConcurrentLinkedQueue<SendResult> results = new ConcurrentLinkedQueue<>();
        List<Thread> senders = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            Message message = message(topic, "t", "auto" + i);
            Thread sender = new Thread(() -> {
                try {
                    results.add(batching.send(message, new MessageQueue(topic, "broker-b", 0)));
                } catch (Exception e) {
                    lab.fail(e);
                }
            });
            senders.add(sender);
            sender.start();
        }
        for (Thread sender : senders) {
            sender.join();
        }
        List<Object> statuses = new ArrayList<>();
        results.forEach(result -> statuses.add(result.getSendStatus()));
        lab.say("batched by itself", Lab.tally(statuses) + " " + lab.stored(topic, 14).size());
        Message late = message(topic, "t", "late");
        Message.class.getMethod("setDelayTimeMs", long.class).invoke(late, 1000L);
        lab.say("sent with a delay of 5.x", batching.send(late, new MessageQueue(topic, "broker-a", 0)).getSendStatus());
        // 4.9.7 brokers take no notice.
        lab.say("there at once", Lab.keys(lab.stored(topic, 15)).contains("late"));
    }

    private static void set(Object client, String setter, boolean value) throws Exception {
        client.getClass().getMethod(setter, boolean.class).invoke(client, value);
    }
}
