package conformance;

import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageQueue;

/** What only clients of 5.x have; the same source must compile against 4.9.7. */
final class Five {
    private Five() {
    }

    /** Has brokers share out the queues of a consumer, and hides what it pops for the shortest time there is. */
    static void popping(DefaultMQPushConsumer consumer) throws Exception {
        DefaultMQPushConsumer.class.getMethod("setClientRebalance", boolean.class).invoke(consumer, false);
        DefaultMQPushConsumer.class.getMethod("setPopInvisibleTime", long.class).invoke(consumer, 5000L);
    }

    /** Sets POP as the request mode of a group for a topic (code 401) at every master. */
    static void setPop(Lab lab, String topic, String group, int share) throws Exception {
        for (Method method : lab.admin().getClass().getMethods()) {
            if (method.getName().equals("setMessageRequestMode")) {
                Object pop = null;
                for (Object constant : method.getParameterTypes()[3].getEnumConstants()) {
                    pop = constant.toString().equals("POP") ? constant : pop;
                }
                for (String address : lab.masters().values()) {
                    method.invoke(lab.admin(), address, topic, group, pop, share, 15_000L);
                }
            }
        }
    }

    /** The queues that a consumer pops from. */
    static Collection<MessageQueue> popped(DefaultMQPushConsumer consumer, String topic) throws Exception {
        Object rebalance = consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl();
        Map<?, ?> table = (Map<?, ?>) rebalance.getClass().getMethod("getPopProcessQueueTable").invoke(rebalance);
        return table.keySet().stream().map(queue -> (MessageQueue) queue)
            .filter(queue -> queue.getTopic().equals(topic)).collect(Collectors.toList());
    }

    /** The handle by which a message with a timer can be recalled; null without a timer. */
    static String recallHandle(SendResult result) throws Exception {
        return (String) SendResult.class.getMethod("getRecallHandle").invoke(result);
    }

    static Object recall(DefaultMQProducer producer, String topic, String handle) throws Exception {
        try {
            return DefaultMQProducer.class.getMethod("recallMessage", String.class, String.class).invoke(producer, topic, handle);
        } catch (java.lang.reflect.InvocationTargetException e) {
            throw (Exception) e.getCause();
        }
    }
}
