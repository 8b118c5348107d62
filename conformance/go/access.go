package main

import (
	"fmt"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const secret = "12345678"

// access is clients with keys, and without, at a broker that checks them. The first send makes the topic:
// the client's requests of operators carry no key.
func access(l *lab) {
	topic := l.topic("Access")
	keys := func(account, secret string) primitive.Credentials {
		return primitive.Credentials{AccessKey: account, SecretKey: secret}
	}
	client := l.producer("AccessClient", producer.WithCredentials(keys("clientclient", secret)))
	l.say("sent", need(client.SendSync(background, message(topic, "t", "one"))).Status)
	l.say("a batch", need(client.SendSync(background, message(topic, "t", "two"), message(topic, "t", "three"))).Status)
	must(client.SendOneWay(background, message(topic, "t", "four")))
	for number, refused := range []struct {
		name    string
		options []producer.Option
	}{
		{"no key", nil},
		{"unknown key", []producer.Option{producer.WithCredentials(keys("unknownkey", secret))}},
		{"wrong secret", []producer.Option{producer.WithCredentials(keys("clientclient", "87654321"))}},
		{"no permission for the topic", []producer.Option{producer.WithCredentials(keys("useruser", secret))}},
	} {
		sender := l.producer(fmt.Sprint("Access", number), append(refused.options, producer.WithRetry(0))...)
		_, err := sender.SendSync(background, message(topic, "t", "refused"))
		l.sayFailure(refused.name, err)
	}
	hears := l.ear("Access", "access", consumer.WithCredentials(keys("clientclient", secret))).listen(topic, "*").begin()
	await("all messages", func() bool { return len(hears.keys()) == 4 })
	l.say("heard", hears.keys())
}
