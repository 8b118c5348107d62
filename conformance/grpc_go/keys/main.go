// What the Go client does with some keys: keys ADDRESS KEY SECRET TOPIC GROUP.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	rmq.EnableSsl = false
	topic := os.Args[4]
	config := &rmq.Config{
		Endpoint:      os.Args[1],
		ConsumerGroup: os.Args[5],
		Credentials:   &credentials.SessionCredentials{AccessKey: os.Args[2], AccessSecret: os.Args[3]},
	}
	producer, err := rmq.NewProducer(config, rmq.WithTopics(topic))
	if err == nil {
		err = producer.Start()
	}
	if tell("a producer", err) {
		_, err = producer.Send(ctx, &rmq.Message{Topic: topic, Body: []byte("hello")})
		tell("a send", err)
	}
	consumer, err := rmq.NewSimpleConsumer(config, rmq.WithSimpleAwaitDuration(5*time.Second),
		rmq.WithSimpleSubscriptionExpressions(map[string]*rmq.FilterExpression{topic: rmq.SUB_ALL}))
	if err == nil {
		err = consumer.Start()
	}
	if !tell("a consumer", err) {
		return
	}
	var received []*rmq.MessageView
	for len(received) == 0 && (err == nil || strings.Contains(err.Error(), "40401")) {
		received, err = consumer.Receive(ctx, 16, 10*time.Second)
	}
	if tell("a receive", err) {
		tell("an acknowledgement", consumer.Ack(ctx, received[0]))
	}
}

// Says whether something was done, or how it was refused.
func tell(what string, err error) bool {
	if err != nil {
		fmt.Printf("%s: %s\n", what, strings.ReplaceAll(err.Error(), "\n", " | "))
		return false
	}
	fmt.Printf("%s: done\n", what)
	return true
}
