package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Every way to send, and what comes back to the sender and to a reader.

const round = 16

func syncSends(l *lab) {
	topic := l.createTopic("Sync", 4)
	sender := l.producer("Sync")
	var results []*primitive.SendResult
	for i := range round {
		results = append(results, need(sender.SendSync(background, message(topic, "round", fmt.Sprint("r", i)))))
	}
	l.sayResults(results)

	topic = l.createTopic("Directed", 4)
	manual := l.directed("Directed")
	full := at(message(topic, "TagA", "k1"), "broker-a", 1).WithKeys([]string{"k1", "k2"}).WithShardingKey("shard")
	full.Flag = 5
	full.WithProperty("colour", "red")
	full.WithProperty("größe", "ü 中")
	full.WithProperty("WAIT", "false")
	large := at(primitive.NewMessage(topic, make([]byte, 8192)).WithTag("large").WithKeys([]string{"k3"}), "broker-a", 1)
	plain := at(primitive.NewMessage(topic, []byte("no tags, no keys")), "broker-b", 3)
	empty := at(primitive.NewMessage(topic, nil).WithKeys([]string{"k4"}), "broker-b", 3)
	for _, each := range []*primitive.Message{full, large, plain, empty} {
		result, err := manual.SendSync(background, each)
		if err != nil {
			l.sayFailure("directed "+each.GetKeys(), err)
		} else {
			l.say("directed "+each.GetKeys(), sent(result))
		}
	}
	for _, each := range l.stored(topic, 3) {
		l.say("stored at "+place(each.Queue)+"@"+fmt.Sprint(each.QueueOffset), l.describe(each))
	}
	must(sender.Shutdown())
	_, err := sender.SendSync(background, message(topic, "t", "k"))
	l.sayFailure("after shutdown", err)
}

func (l *lab) sayResults(results []*primitive.SendResult) {
	var status, places, rest []string
	right := 0
	for _, result := range results {
		status = append(status, fmt.Sprint(result.Status))
		places = append(places, fmt.Sprintf("%s@%d", place(result.MessageQueue), result.QueueOffset))
		id := need(primitive.UnmarshalMsgID([]byte(result.OffsetMsgID)))
		if fmt.Sprintf("%s:%d", id.Addr, id.Port) == l.brokers()[result.MessageQueue.BrokerName] {
			right++
		}
		rest = append(rest, fmt.Sprintf("region=%s traceOn=%v transactionId=%q", result.RegionID, result.TraceOn, result.TransactionID))
	}
	l.say("status", tally(status))
	l.say("places", places)
	l.say("offset ids name the master", right)
	l.say("results", tally(rest))
}

func asyncSends(l *lab) {
	topic := l.createTopic("Async", 4)
	sender := l.producer("Async")
	var lock sync.Mutex
	var status, places []string
	var done sync.WaitGroup
	for i := range round {
		done.Add(1)
		must(sender.SendAsync(background, func(_ context.Context, result *primitive.SendResult, err error) {
			defer done.Done()
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				status = append(status, err.Error())
				return
			}
			status = append(status, fmt.Sprint(result.Status))
			places = append(places, place(result.MessageQueue))
		}, message(topic, "async", fmt.Sprint("a", i))))
	}
	done.Wait()
	l.say("status", tally(status))
	l.say("places", tally(places))
	l.say("stored", len(l.stored(topic, round)))

	done.Add(1)
	var once sync.Once
	must(sender.SendAsync(background, func(_ context.Context, _ *primitive.SendResult, err error) {
		once.Do(func() {
			l.sayFailure("async, too long a topic", err)
			done.Done()
		})
	}, message(strings.Repeat("x", 128), "t", "k")))
	done.Wait()
}

func oneway(l *lab) {
	topic := l.createTopic("OneWay", 2)
	sender := l.producer("OneWay")
	for i := range 8 {
		must(sender.SendOneWay(background, message(topic, "oneway", fmt.Sprint("o", i))))
	}
	stored := l.stored(topic, 8)
	var places []string
	for _, each := range stored {
		places = append(places, place(each.Queue))
	}
	l.say("places", tally(places))
	l.say("first", l.describe(byKey(stored)[0]))
	// Nobody hears of a refusal; that it did no harm shows in the next send.
	must(sender.SendOneWay(background, message("no/slash", "t", "k")))
	l.say("after a refused one", need(sender.SendSync(background, message(topic, "t", "k"))).Status)
}

func batch(l *lab) {
	topic := l.createTopic("Batch", 1)
	sender := l.settled("Batch")
	manual := l.directed("BatchManual")
	var messages []*primitive.Message
	for i := range 5 {
		each := at(message(topic, fmt.Sprint("Tag", i%2), fmt.Sprint("b", i)), "broker-a", 0)
		each.WithProperty("i", fmt.Sprint(i))
		messages = append(messages, each)
	}
	messages[3].Body = make([]byte, 6000) // over the size of compression: batches are sent as they are
	result := need(manual.SendSync(background, messages...))
	l.say("batch", sent(result))
	l.say("ids", len(result.MsgID), strings.Count(result.OffsetMsgID, ",")+1)
	result = need(manual.SendSync(background, messages[0]))
	l.say("a batch of one", sent(result), "id", len(result.MsgID))
	for _, each := range l.stored(topic, 6) {
		l.say("stored at "+place(each.Queue)+"@"+fmt.Sprint(each.QueueOffset), l.describe(each))
	}
	_, err := sender.SendSync(background, message(topic, "t", "k"), message(topic+"Other", "t", "k"))
	l.sayFailure("two topics", err)
	_, err = sender.SendSync(background)
	l.sayFailure("no message", err)
	big := []*primitive.Message{message(topic, "t", "big1"), message(topic, "t", "big2")}
	big[0].Body, big[1].Body = make([]byte, 3<<20), make([]byte, 2<<20)
	_, err = sender.SendSync(background, big...)
	l.sayFailure("over 4 MiB together", err)
	unknown := l.topic("BatchAuto")
	var places []string
	for range 8 {
		result = need(sender.SendSync(background, message(unknown, "t", "k1"), message(unknown, "t", "k2")))
		places = append(places, place(result.MessageQueue))
	}
	l.say("to a new topic", tally(places), l.routeAt(2, unknown))
}

func sendErrors(l *lab) {
	topic := l.createTopic("Errors", 1)
	sender := l.producer("Errors")
	// The default queues come from the route of TBW102, whose order decides who answers.
	try := func(key string, each *primitive.Message) {
		_, err := sender.SendSync(background, each)
		l.sayFailure(key, err)
	}
	try("illegal topic", message("no/slash", "t", "k"))
	try("no topic", message("", "t", "k"))
	try("topic of 128", message(strings.Repeat("x", 128), "t", "k"))
	try("topic of the system", message("SCHEDULE_TOPIC_XXXX", "t", "k"))
	try("topic of transactions", message("RMQ_SYS_TRANS_HALF_TOPIC", "t", "k"))
	manual := l.directed("ErrorsManual", producer.WithCompressMsgBodyOverHowmuch(64<<20))
	try = func(key string, each *primitive.Message) {
		_, err := manual.SendSync(background, each)
		l.sayFailure(key, err)
	}
	large := at(message(topic, "t", "k"), "broker-a", 0)
	large.Body = make([]byte, 4<<20+1)
	try("body over 4 MiB", large)
	wide := at(message(topic, "t", "k"), "broker-a", 0)
	wide.WithProperty("wide", strings.Repeat("w", 32767))
	try("properties over 32767 bytes", wide)
	try("queue id beyond the topic", at(message(topic, "t", "k"), "broker-a", 9))
	try("no broker of that name", at(message(topic, "t", "k"), "broker-z", 0))
	l.createTopicPerm("Errors", 1, 4)
	try("topic that became read-only", at(message(topic, "t", "k"), "broker-a", 0))
	_, err := l.producer("ErrorsLate").SendSync(background, message(topic, "t", "k"))
	l.sayFailure("route without a queue for writers", err)
	l.sayFailure("a second producer of the group in one instance", l.newProducer("Errors").Start())
}

func autoTopic(l *lab) {
	topic := l.topic("Auto")
	sender := l.settled("Auto")
	var places []string
	for i := range round {
		places = append(places, place(need(sender.SendSync(background, message(topic, "auto", fmt.Sprint("a", i)))).MessageQueue))
	}
	l.say("places", places)
	l.say("route", l.routeAt(2, topic))
	l.say("stored", len(l.stored(topic, round)))
	// The client says 4 whatever it was told, but picks among as many as it was told.
	few := l.settled("AutoFew", producer.WithDefaultTopicQueueNums(2))
	topic = l.topic("AutoFew")
	places = nil
	for i := range round {
		places = append(places, place(need(few.SendSync(background, message(topic, "auto", fmt.Sprint("b", i)))).MessageQueue))
	}
	l.say("places of two", tally(places))
	l.say("route of two", l.routeAt(2, topic))
}

// properties sends what users should not: properties that are the system's, a body to compress.
func properties(l *lab) {
	topic := l.createTopic("Properties", 1)
	manual := l.directed("Properties")
	colliding := at(message(topic, "", "collide"), "broker-a", 0)
	for _, key := range []string{"MSG_REGION", "TRACE_ON", "CLUSTER", "MIN_OFFSET", "REAL_TOPIC", "REAL_QID", "RETRY_TOPIC",
		"ORIGIN_MESSAGE_ID", "RECONSUME_TIME", "MAX_RECONSUME_TIMES", "INSTANCE_ID", "CORRELATION_ID", "1ST_RECONSUME_TIME"} {
		colliding.WithProperty(key, "mine")
	}
	own := at(message(topic, "", "own"), "broker-a", 0)
	own.WithProperty("UNIQ_KEY", "my own id")
	own.WithProperty("DELAY", "0")
	own.WithProperty("empty", "")
	own.WithProperty("=:,{}\"\\ \t", "=:,{}\"\\ \t\n")
	full := at(message(topic, "", "full"), "broker-a", 0)
	full.WithProperty("wide", strings.Repeat("w", 32000))
	packed := at(message(topic, "", "packed"), "broker-a", 0)
	packed.Body = []byte(strings.Repeat("compress me, ", 20_000))
	for _, each := range []*primitive.Message{colliding, own, full, packed} {
		result := need(manual.SendSync(background, each))
		l.say(each.GetKeys(), sent(result), each.GetKeys() == "own" && result.MsgID == "my own id")
	}
	for _, each := range l.stored(topic, 4) {
		text := l.describe(each)
		if each.GetKeys() == "full" {
			text = fmt.Sprint(len(each.GetProperty("wide")), " of property")
		}
		l.say("stored", text)
		if each.GetKeys() == "packed" {
			l.say("unpacked", string(each.Body) == strings.Repeat("compress me, ", 20_000))
		}
	}
}

// hashed sends by sharding key: one key, one queue, in order.
func hashed(l *lab) {
	topic := l.createTopic("Hashed", 4)
	sender := l.producer("Hashed", producer.WithQueueSelector(producer.NewHashQueueSelector()))
	for i := range 24 {
		each := message(topic, "t", fmt.Sprintf("h%02d", i)).WithShardingKey(fmt.Sprint("order-", i%6))
		result := need(sender.SendSync(background, each))
		if i < 6 {
			l.say(each.GetShardingKey(), sent(result))
		}
	}
	order := map[string][]string{}
	for _, each := range l.stored(topic, 24) {
		order[each.GetShardingKey()] = append(order[each.GetShardingKey()], each.GetKeys())
	}
	for _, keys := range order {
		if !slices.IsSorted(keys) {
			panic(fmt.Sprint("out of order: ", keys))
		}
	}
	l.say("order", order)
}
