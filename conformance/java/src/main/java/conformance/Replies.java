package conformance;

import static conformance.Lab.message;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Requests that wait for a reply. */
final class Replies {
    private static final int PATIENT = 20_000;

    private Replies() {
    }

    static void request(Lab lab) throws Exception {
        String topic = lab.createTopic("Request", 1);
        DefaultMQProducer requester = lab.producer("Requester");
        DefaultMQProducer replier = lab.producer("Replier");
        ConcurrentLinkedQueue<MessageExt> requests = new ConcurrentLinkedQueue<>();
        ConcurrentLinkedQueue<String> replies = new ConcurrentLinkedQueue<>();
        DefaultMQPushConsumer consumer = lab.pushConsumer("Replier", "replier");
        consumer.subscribe(topic, "*");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                requests.add(message);
                try {
                    if (message.getTags().equals("late")) {
                        Thread.sleep(2000);
                    }
                    if (!message.getTags().equals("mute")) {
                        Message reply = MessageUtil.createReplyMessage(message, reply(message));
                        reply.setTags("reply");
                        reply.putUserProperty("size", String.valueOf(message.getBody().length));
                        SendResult result = replier.send(reply, PATIENT);
                        replies.add(message.getKeys() + " " + result.getSendStatus() + " " + result.getMessageQueue().getTopic());
                    }
                } catch (Exception e) {
                    replies.add(message.getKeys() + " " + e);
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Lab.await("queues", () -> Pushes.assigned(consumer, topic).size() == 2);

        sayReply(lab, "sync", requester.request(message(topic, "t", "sync"), PATIENT));
        MessageQueue queue = new MessageQueue(topic, "broker-b", 0);
        sayReply(lab, "to a queue", requester.request(message(topic, "t", "directed"), queue, PATIENT));
        sayReply(lab, "by selector", requester.request(message(topic, "t", "selected"),
            (queues, m, index) -> queues.get((Integer) index), 0, PATIENT));
        Message large = new Message(topic, "large", "large", new byte[10_000]);
        Message echo = requester.request(large, PATIENT);
        lab.say("large reply", echo.getBody().length + " bytes");
        CompletableFuture<Message> answered = new CompletableFuture<>();
        requester.request(message(topic, "t", "async"), callback(answered, new CompletableFuture<>()), PATIENT);
        sayReply(lab, "async", answered.get(PATIENT, TimeUnit.MILLISECONDS));

        lab.sayFailure("no reply", () -> requester.request(message(topic, "mute", "mute"), 600));
        lab.sayFailure("a reply that comes late", () -> requester.request(message(topic, "late", "late"), 600));
        CompletableFuture<Message> unanswered = new CompletableFuture<>();
        requester.request(message(topic, "mute", "async-mute"), callback(new CompletableFuture<>(), unanswered), 600);
        lab.sayFailure("the first call without a reply", () -> {
            try {
                return unanswered.get(PATIENT, TimeUnit.MILLISECONDS);
            } catch (ExecutionException e) {
                throw (Exception) e.getCause();
            }
        });
        String deserted = lab.createTopic("Deserted", 1);
        lab.sayFailure("no group consumes", () -> requester.request(message(deserted, "t", "deserted"), 600));
        lab.sayFailure("reply to no request", () -> MessageUtil.createReplyMessage(message(topic, "t", "k"), new byte[1]));

        Lab.await("8 replies or none", () -> requests.size() >= 8 && replies.size() >= 6);
        for (MessageExt message : Lab.byKey(requests)) {
            message.getProperties().remove("MAX_OFFSET");
            lab.say("requested", lab.describe(message));
        }
        replies.stream().sorted().forEach(told -> lab.say("replied", told));

        Message stray = MessageUtil.createReplyMessage(requests.peek(), "stray".getBytes(StandardCharsets.UTF_8));
        MessageAccessor.putProperty(stray, "REPLY_TO_CLIENT", "127.0.0.1@absent");
        lab.sayFailure("reply to a client that is not there", () -> replier.send(stray, PATIENT).getSendStatus());
        Message unknown = MessageUtil.createReplyMessage(requests.peek(), "unknown".getBytes(StandardCharsets.UTF_8));
        MessageAccessor.putProperty(unknown, "CORRELATION_ID", "unknown");
        lab.sayFailure("reply to a request that is not there", () -> replier.send(unknown, PATIENT).getSendStatus());
    }

    private static byte[] reply(MessageExt message) {
        return message.getBody().length > 100 ? message.getBody()
            : ("reply to " + message.getKeys()).getBytes(StandardCharsets.UTF_8);
    }

    /** 4.9.7 calls back when the request is sent, without a reply, and again with the reply if one comes. */
    private static RequestCallback callback(CompletableFuture<Message> reply, CompletableFuture<Message> first) {
        return new RequestCallback() {
            @Override
            public void onSuccess(Message message) {
                first.complete(message);
                if (message != null) {
                    reply.complete(message);
                }
            }

            @Override
            public void onException(Throwable e) {
                first.completeExceptionally(e);
                reply.completeExceptionally(e);
            }
        };
    }

    private static void sayReply(Lab lab, String key, Message reply) {
        lab.say(key, reply.getClass().getSimpleName() + " topic=" + reply.getTopic() + " body="
            + new String(reply.getBody(), StandardCharsets.UTF_8) + " flag=" + reply.getFlag()
            + " properties=" + Lab.properties(reply));
    }
}
