package main

import (
	"context"
	"fmt"
	"os"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

func main() {
	ctx := context.Background()
	rmq.EnableSsl = os.Args[2] == "tls" // true by default; it takes any certificate
	config := &rmq.Config{Endpoint: os.Args[1], Credentials: &credentials.SessionCredentials{}}

	producer, err := rmq.NewProducer(config, rmq.WithTopics("greetings"))
	check(err)
	check(producer.Start())
	_, err = producer.Send(ctx, &rmq.Message{Topic: "greetings", Body: []byte("hello")})
	check(err)

	config.ConsumerGroup = "readers"
	consumer, err := rmq.NewSimpleConsumer(config, rmq.WithSimpleAwaitDuration(5*time.Second),
		rmq.WithSimpleSubscriptionExpressions(map[string]*rmq.FilterExpression{"greetings": rmq.SUB_ALL}))
	check(err)
	check(consumer.Start())
	for received := false; !received; {
		messages, _ := consumer.Receive(ctx, 16, 10*time.Second) // it is an error that there is no message
		for _, one := range messages {
			fmt.Println("received", string(one.GetBody()))
			check(consumer.Ack(ctx, one))
			received = true
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
