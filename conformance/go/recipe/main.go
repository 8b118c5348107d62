package main

import (
	"context"
	"fmt"
	"os"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

func main() {
	servers := primitive.NewPassthroughResolver(os.Args[1:2])

	shop, err := rocketmq.NewProducer(producer.WithNsResolver(servers), producer.WithGroupName("shop"))
	check(err)
	check(shop.Start())
	_, err = shop.SendSync(context.Background(), primitive.NewMessage("greetings", []byte("hello")))
	check(err)

	done := make(chan bool, 1)
	readers, err := rocketmq.NewPushConsumer(consumer.WithNsResolver(servers), consumer.WithGroupName("readers"),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	check(err)
	check(readers.Subscribe("greetings", consumer.MessageSelector{},
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			for _, one := range messages {
				fmt.Println("received", string(one.Body))
			}
			done <- true
			return consumer.ConsumeSuccess, nil
		}))
	check(readers.Start())
	<-done
	check(readers.Shutdown())
	check(shop.Shutdown())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
