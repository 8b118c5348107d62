package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Long-lived clients that a test steers: one command a line on stdin, one event a line on stdout.
//
// "produce TOPIC GROUP PER_SECOND": "ready", then "ack ID STATUS BROKER QUEUE OFFSET" or
// "fail ID ERROR" for each message; commands "go", "pause", "send ID", "stop".
//
// "consume TOPIC GROUP EXPRESSION INSTANCE [orderly]": "ready", then
// "recv EPOCH_MS ID BROKER QUEUE OFFSET RECONSUME_TIMES"; commands "assigned" (answer
// "assigned BROKER:QUEUE ..."), "stop", "halt".
//
// "stop" shuts the client down and prints "stopped"; the end of stdin is a "halt": no clean-up.

var events sync.Mutex

func event(words ...any) {
	events.Lock()
	defer events.Unlock()
	fmt.Println(words...)
}

func produce(namesrv string, arguments []string) {
	topic := arguments[0]
	gap := time.Second / time.Duration(need(strconv.Atoi(arguments[2])))
	// A retry is for the next queue, whoever's it is: there must be more than one broker has.
	sender := need(rocketmq.NewProducer(producer.WithNameServer([]string{namesrv}), producer.WithGroupName(arguments[1]),
		producer.WithInstanceName("driver"), producer.WithRetry(8)))
	must(sender.Start())
	var going atomic.Bool
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		ticks := time.NewTicker(gap)
		for i := 0; ; {
			select {
			case <-stop:
				return
			case <-ticks.C:
				if going.Load() {
					send(sender, topic, fmt.Sprintf("id-%06d", i))
					i++
				}
			}
		}
	}()
	event("ready")
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		switch command, id, _ := strings.Cut(commands.Text(), " "); command {
		case "go", "pause":
			going.Store(command == "go")
		case "send":
			send(sender, topic, id)
		case "stop":
			close(stop)
			<-stopped
			must(sender.Shutdown())
			event("stopped")
			return
		}
	}
}

func send(sender rocketmq.Producer, topic, id string) {
	each := primitive.NewMessage(topic, []byte(id)).WithTag("driver").WithKeys([]string{id})
	if result, err := sender.SendSync(background, each); err != nil {
		event("fail", id, strings.ReplaceAll(err.Error(), "\n", " "))
	} else {
		queue := result.MessageQueue
		event("ack", id, result.Status, queue.BrokerName, queue.QueueId, result.QueueOffset)
	}
}

func consume(namesrv string, arguments []string) {
	lab := newLab(namesrv, "")
	hears := lab.ear("", arguments[3], consumer.WithGroupName(arguments[1]),
		consumer.WithConsumerOrder(len(arguments) > 4 && arguments[4] == "orderly"))
	hears.listenWith(arguments[0], consumer.MessageSelector{Type: consumer.TAG, Expression: arguments[2]},
		func(_ context.Context, messages []*primitive.MessageExt) consumer.ConsumeResult {
			for _, each := range messages {
				event("recv", time.Now().UnixMilli(), each.GetKeys(), each.Queue.BrokerName, each.Queue.QueueId,
					each.QueueOffset, each.ReconsumeTimes)
			}
			return consumer.ConsumeSuccess
		}).begin()
	event("ready")
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		switch commands.Text() {
		case "assigned":
			event("assigned", strings.Join(hears.share(arguments[0]), " "))
		case "stop":
			must(hears.Shutdown())
			event("stopped")
			return
		case "halt":
			return
		}
	}
}
