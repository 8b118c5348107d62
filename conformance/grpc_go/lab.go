package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

const (
	invisible = 10 * time.Second
	await     = 5 * time.Second
	patience  = 90 * time.Second
	quiet     = invisible + await // what was not acknowledged comes again
)

// One scenario's run.
type lab struct {
	address, scenario, suffix string
	printing                  sync.Mutex
	atEnd                     []func()
}

func (l *lab) name(name string) string { return name + "_" + l.suffix }

func (l *lab) say(format string, values ...any) {
	l.printing.Lock()
	defer l.printing.Unlock()
	text := strings.ReplaceAll(fmt.Sprintf(format, values...), "\n", " | ")
	fmt.Printf("%s\t%s\n", l.scenario, text)
}

// Says how something was refused.
func (l *lab) sayFailure(what string, err error) {
	var refused *rmq.ErrRpcStatus
	switch {
	case err == nil:
		l.say("%s: done", what)
	case errors.As(err, &refused):
		l.say("%s: %d %s", what, refused.Code, refused.Message)
	default:
		l.say("%s: %v", what, err)
	}
}

func (l *lab) config(group string) *rmq.Config {
	return &rmq.Config{
		Endpoint:      l.address,
		ConsumerGroup: group,
		Credentials:   &credentials.SessionCredentials{AccessKey: "any", AccessSecret: "any"},
	}
}

func (l *lab) producer(topic string, check func(*rmq.MessageView) rmq.TransactionResolution) (rmq.Producer, error) {
	options := []rmq.ProducerOption{rmq.WithTopics(topic)}
	if check != nil {
		options = append(options, rmq.WithTransactionChecker(&rmq.TransactionChecker{Check: check}))
	}
	producer, err := rmq.NewProducer(l.config(""), options...)
	if err != nil {
		return nil, err
	}
	l.atEnd = append(l.atEnd, func() { producer.GracefulStop() })
	return producer, producer.Start()
}

func (l *lab) simple(group, topic string, expression *rmq.FilterExpression) (rmq.SimpleConsumer, error) {
	consumer, err := rmq.NewSimpleConsumer(l.config(group), rmq.WithSimpleAwaitDuration(await),
		rmq.WithSimpleSubscriptionExpressions(map[string]*rmq.FilterExpression{topic: expression}))
	if err != nil {
		return nil, err
	}
	l.atEnd = append(l.atEnd, func() { consumer.GracefulStop() })
	return consumer, consumer.Start()
}

func (l *lab) push(group, topic string, succeeds func(*rmq.MessageView) bool) error {
	consumer, err := rmq.NewPushConsumer(l.config(group), rmq.WithPushAwaitDuration(await),
		rmq.WithPushSubscriptionExpressions(map[string]*rmq.FilterExpression{topic: rmq.SUB_ALL}),
		rmq.WithPushMessageListener(&rmq.FuncMessageListener{Consume: func(found *rmq.MessageView) rmq.ConsumerResult {
			if succeeds(found) {
				return rmq.SUCCESS
			}
			return rmq.FAILURE
		}}))
	if err != nil {
		return err
	}
	l.atEnd = append(l.atEnd, func() { consumer.GracefulStop() })
	return consumer.Start()
}

func (l *lab) lite(group, topic string, succeeds func(*rmq.MessageView) bool) (rmq.LitePushConsumer, error) {
	consumer, err := rmq.NewLitePushConsumer(l.config(group), rmq.NewLitePushConsumerConfig(topic, invisible),
		rmq.WithPushAwaitDuration(await),
		rmq.WithPushMessageListener(&rmq.FuncMessageListener{Consume: func(found *rmq.MessageView) rmq.ConsumerResult {
			if succeeds(found) {
				return rmq.SUCCESS
			}
			return rmq.FAILURE
		}}))
	if err != nil {
		return nil, err
	}
	l.atEnd = append(l.atEnd, func() { consumer.GracefulStop() })
	return consumer, consumer.Start()
}

func message(topic, key string) *rmq.Message {
	made := &rmq.Message{Topic: topic, Body: []byte("body of " + key)}
	made.SetKeys(key)
	made.SetTag("t")
	return made
}

func key(found *rmq.MessageView) string { return strings.Join(found.GetKeys(), " ") }

// Returns what every correct cluster shows of a received message.
func shown(found *rmq.MessageView) string {
	properties := []string{}
	for name, value := range found.GetProperties() {
		if name != "TRANSACTION_CHECK_TIMES" && name != "__transactionId__" {
			properties = append(properties, name+"="+value)
		}
	}
	sort.Strings(properties)
	group := ""
	if found.GetMessageGroup() != nil {
		group = *found.GetMessageGroup()
	}
	return fmt.Sprintf("keys=%v tag=%s body=%s properties=%v group=%s attempt=%d", found.GetKeys(), *found.GetTag(),
		found.GetBody(), properties, group, found.GetDeliveryAttempt())
}

func send(producer rmq.Producer, made *rmq.Message) (*rmq.SendReceipt, error) {
	receipts, err := producer.Send(context.Background(), made)
	if err != nil {
		return nil, err
	}
	return receipts[0], nil
}

// Waits until something holds.
func until(what string, holds func() bool) error {
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %v", what, patience)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// Receives once; a client that finds nothing gets an error.
func receiveSome(consumer rmq.SimpleConsumer, most int32) []*rmq.MessageView {
	found, _ := consumer.Receive(context.Background(), most, invisible)
	return found
}

// Receives so many messages, each acknowledged at once.
func receive(consumer rmq.SimpleConsumer, count int, most int32) ([]*rmq.MessageView, error) {
	found := []*rmq.MessageView{}
	err := until(fmt.Sprintf("%d messages", count), func() bool {
		for _, one := range receiveSome(consumer, most) {
			found = append(found, one)
			consumer.Ack(context.Background(), one)
		}
		return len(found) >= count
	})
	return found, err
}

// Receives one message, which is not acknowledged.
func receiveOne(consumer rmq.SimpleConsumer) (*rmq.MessageView, error) {
	var found []*rmq.MessageView
	err := until("a message", func() bool {
		found = receiveSome(consumer, 1)
		return len(found) > 0
	})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Says the keys of a group's dead letters, once there is one.
func (l *lab) sayBuried(group string) error {
	topic := "%DLQ%" + group
	var consumer rmq.SimpleConsumer
	err := until("a route of dead letters", func() bool {
		var err error
		consumer, err = l.simple(l.name("Buried"+l.scenario), topic, rmq.SUB_ALL)
		return err == nil
	})
	if err != nil {
		return err
	}
	found, err := receive(consumer, 1, 16)
	l.say("buried %v", keys(found))
	return err
}

func keys(found []*rmq.MessageView) []string {
	all := []string{}
	for _, one := range found {
		all = append(all, key(one))
	}
	return all
}

// What listeners on threads of the client note.
type notes struct {
	lock sync.Mutex
	list []string
}

func (n *notes) add(note string) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.list = append(n.list, note)
}

func (n *notes) all() []string {
	n.lock.Lock()
	defer n.lock.Unlock()
	return slices.Clone(n.list)
}
