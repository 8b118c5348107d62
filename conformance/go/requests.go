package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// request asks and is answered, at once and later, or not at all.
func request(l *lab) {
	topic := l.createTopic("Request", 2)
	replier := l.producer("Replier")
	replies := make(chan string, 10)
	l.ear("Replies", "replies").listenWith(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "ask"},
		func(_ context.Context, messages []*primitive.MessageExt) consumer.ConsumeResult {
			reply := need(consumer.CreateReplyMessage(messages[0], nil))
			reply.Body = []byte("answer to " + string(messages[0].Body))
			if messages[0].GetKeys() == "long" {
				reply.Body = []byte(strings.Repeat("long ", 4000))
			}
			reply.WithProperty("colour", "red")
			result := need(replier.SendSync(background, reply))
			replies <- fmt.Sprint("status=", result.Status, " at=", result.MessageQueue.Topic, " ", place(result.MessageQueue))
			return consumer.ConsumeSuccess
		}).begin()
	asker := l.producer("Asker")
	l.beat("producer-Asker", topic)

	reply, err := asker.Request(background, 10*time.Second, message(topic, "ask", "q1"))
	must(err)
	l.sayReply("request", reply)
	l.say("reply was", <-replies)
	reply, err = asker.Request(background, 10*time.Second, message(topic, "ask", "long"))
	must(err)
	l.sayReply("long request", reply)
	<-replies

	called := make(chan *primitive.Message, 10)
	must(asker.RequestAsync(background, 10*time.Second, func(_ context.Context, reply *primitive.Message, err error) {
		must(err)
		called <- reply
	}, message(topic, "ask", "q2")))
	l.sayReply("asynchronous request", <-called)

	_, err = asker.Request(background, time.Second, message(topic, "nobody", "q3"))
	l.sayFailure("nobody answers", err)
	for _, each := range byKey(l.stored(topic, 4)) {
		l.say("stored", l.describe(each, "CORRELATION_ID", "REPLY_TO_CLIENT"))
	}
	l.say("reply topic", l.routeAt(2, "DefaultCluster_REPLY_TOPIC"))

	// A reply to one who is not there is not pushed; the broker says so.
	stray := &primitive.Message{Topic: "DefaultCluster_REPLY_TOPIC", Body: []byte("stray")}
	stray.WithProperty("MSG_TYPE", "reply")
	stray.WithProperty("CORRELATION_ID", "none")
	stray.WithProperty("REPLY_TO_CLIENT", "nobody@nowhere")
	stray.WithProperty("TTL", "3000")
	result, err := replier.SendSync(background, stray)
	if err == nil {
		l.say("stray reply", "status=", result.Status)
	} else {
		l.sayFailure("stray reply", err)
	}
}

func (l *lab) sayReply(key string, reply *primitive.Message) {
	properties := reply.GetProperties()
	for _, changing := range []string{"CORRELATION_ID", "REPLY_TO_CLIENT", "UNIQ_KEY", "ARRIVE_TIME", "PUSH_REPLY_TIME"} {
		if properties[changing] != "" {
			properties[changing] = "<set>"
		}
	}
	body := string(reply.Body)
	if len(body) > 40 {
		body = fmt.Sprint(len(body), " bytes")
	}
	l.say(key, reply.Topic, body, properties)
}
