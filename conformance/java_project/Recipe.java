import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

public final class Recipe {
    public static void main(String[] words) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("shop");
        producer.setNamesrvAddr(words[0]);
        producer.start();
        producer.send(new Message("greetings", "hello".getBytes(StandardCharsets.UTF_8)));

        CountDownLatch done = new CountDownLatch(1);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("readers");
        consumer.setNamesrvAddr(words[0]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("greetings", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(one -> System.out.println("received " + new String(one.getBody(), StandardCharsets.UTF_8)));
            done.countDown();
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        done.await();
        consumer.shutdown();
        producer.shutdown();
    }
}
