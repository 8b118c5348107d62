import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/** What is tested: it sends orders, and receives them. */
final class Shop implements AutoCloseable {
    final BlockingQueue<String> received = new LinkedBlockingQueue<>();
    private final DefaultMQProducer producer = new DefaultMQProducer("shop");
    private final DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("billing");

    Shop(String namesrvAddr) throws Exception {
        producer.setNamesrvAddr(namesrvAddr);
        producer.start();
        consumer.setNamesrvAddr(namesrvAddr);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("orders", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(one -> received.add(new String(one.getBody(), StandardCharsets.UTF_8)));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
    }

    void order(String what, int delayLevel) throws Exception {
        Message message = new Message("orders", what.getBytes(StandardCharsets.UTF_8));
        message.setDelayTimeLevel(delayLevel);
        producer.send(message);
    }

    @Override
    public void close() {
        consumer.shutdown();
        producer.shutdown();
    }
}
