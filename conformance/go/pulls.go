package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// The pull consumer, and everything about offsets. It pulls in the background as well, for Poll.

func pulled(result *primitive.PullResult) string {
	keys := []string{}
	for _, each := range result.GetMessageExts() {
		keys = append(keys, each.GetKeys())
	}
	return fmt.Sprint("status=", result.Status, " next=", result.NextBeginOffset, " min=", result.MinOffset,
		" max=", result.MaxOffset, " keys=", keys)
}

func (l *lab) sayPull(key string, result *primitive.PullResult, err error) {
	if err != nil {
		l.sayFailure(key, err)
	} else {
		l.say(key, pulled(result))
	}
}

func pull(l *lab) {
	topic := l.createTopic("Pull", 1)
	sender := l.directed("Pull")
	queue := &primitive.MessageQueue{Topic: topic, BrokerName: "broker-a", QueueId: 0}
	for i := range 10 {
		need(sender.SendSync(background, at(message(topic, []string{"even", "odd"}[i%2], fmt.Sprint("m", i)), "broker-a", 0)))
	}
	await("10 messages", func() bool { return l.maxOffset(queue) == 10 })
	puller := l.pullConsumer("Pull", topic, everything)
	from := func(key string, offset int64, count int) {
		result, err := puller.PullFrom(background, queue, offset, count)
		l.sayPull(key, result, err)
	}
	from("all", 0, 32)
	from("first four", 0, 4)
	from("from six", 6, 32)
	from("one beyond the end", 11, 32)
	from("far beyond the end", 1000, 32)
	from("negative offset", -1, 32)
	from("no messages", 0, 0)
	for _, each := range need(puller.PullFrom(background, queue, 0, 2)).GetMessageExts() {
		l.say("pulled", l.describe(each))
	}
	odd := l.pullConsumer("PullOdd", topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "odd"})
	result, err := odd.PullFrom(background, queue, 0, 32)
	l.sayPull("odd only", result, err)
	none := l.pullConsumer("PullNone", topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "none"})
	result, err = none.PullFrom(background, queue, 0, 32)
	l.sayPull("no such tag", result, err)

	began := time.Now()
	go func() {
		time.Sleep(500 * time.Millisecond)
		need(sender.SendSync(background, at(message(topic, "t", "on its way"), "broker-a", 0)))
	}()
	from("held until one comes", 10, 32)
	waited := time.Since(began)
	l.say("woken by it", waited >= 400*time.Millisecond && waited < 5*time.Second)

	wide := &primitive.MessageQueue{Topic: topic, BrokerName: "broker-b", QueueId: 0}
	plain := l.directed("PullPlain", producer.WithCompressMsgBodyOverHowmuch(1<<20))
	for i := range 6 {
		each := at(message(topic, "t", fmt.Sprint("w", i)), "broker-b", 0)
		each.Body = make([]byte, 100_000)
		need(plain.SendSync(background, each))
	}
	await("6 big ones", func() bool { return l.maxOffset(wide) == 6 })
	// The broker stops a pull at 256 KiB of messages in memory.
	result, err = puller.PullFrom(background, wide, 0, 32)
	l.sayPull("big ones", result, err)

	// Pull takes the queues of its share in turn, each from what is committed; those of its retry topic
	// too, but for that nobody may read this one.
	l.createTopicPerm("%RETRY%GPullOne", 1, 2)
	one := l.createTopicAt("PullOne", 1, 6, "broker-a")
	for i := range 6 {
		need(sender.SendSync(background, at(message(one, "t", fmt.Sprint("p", i)), "broker-a", 0)))
	}
	turn := l.pullConsumer("PullOne", one, everything)
	await("its share", func() bool { return hasShare(turn) })
	l.sayPull("pull of 2", need(turn.Pull(background, 2)), nil)
	l.sayPull("pull of 2 again", need(turn.Pull(background, 2)), nil)
	at0 := &primitive.MessageQueue{Topic: one, BrokerName: "broker-a", QueueId: 0}
	must(turn.UpdateOffset(at0, 2))
	l.say("current offset", need(turn.CurrentOffset(at0)), "committed", l.committed("PullOne", at0))
	must(turn.PersistOffset(background, one))
	await("the commit", func() bool { return l.committed("PullOne", at0) == 2 })
	l.sayPull("pull after the commit", need(turn.Pull(background, 2)), nil)
}

// hasShare tells whether a pull consumer has been allotted a queue with messages: only then does it
// persist offsets.
func hasShare(puller rocketmq.PullConsumer) bool {
	request, err := puller.Poll(background, 100*time.Millisecond)
	return err == nil && len(request.GetMsgList()) > 0
}

func pullErrors(l *lab) {
	topic := l.createTopic("PullErrors", 1)
	sender := l.directed("PullErrors")
	need(sender.SendSync(background, at(message(topic, "t", "m0"), "broker-a", 0)))
	puller := l.pullConsumer("PullErrors", topic, everything)
	from := func(key, topic, broker string, queue int) {
		result, err := puller.PullFrom(background, &primitive.MessageQueue{Topic: topic, BrokerName: broker, QueueId: queue}, 0, 32)
		l.sayPull(key, result, err)
	}
	from("a message", topic, "broker-a", 0)
	from("queue id beyond the topic", topic, "broker-a", 9)
	from("unknown topic", l.topic("Unknown"), "broker-a", 0)
	from("unknown broker", topic, "broker-z", 0)
	l.createTopicPerm("PullErrors", 1, 2)
	from("write-only topic", topic, "broker-a", 0)
	body := fmt.Sprintf(`{"groupName":%q,"consumeEnable":false,"retryQueueNums":1,"retryMaxTimes":16}`, l.group("PullErrors"))
	for _, addr := range l.brokers() {
		ask(addr, updateSubscriptionGroup, nil, []byte(body))
	}
	from("group that may not consume", topic, "broker-a", 0)
	_, err := puller.PullFrom(background, nil, 0, 32)
	l.sayFailure("no queue", err)
	must(puller.Shutdown())
	from("after shutdown", topic, "broker-a", 0)
	stray := need(rocketmq.NewPullConsumer(consumer.WithNameServer([]string{l.namesrv}), consumer.WithGroupName(l.group("None")),
		consumer.WithInstance("none"+l.suffix)))
	must(stray.Subscribe(l.topic("None"), everything))
	l.sayFailure("a topic that is not there", stray.Start())
}

// sqlErrors pulls with expressions, good and bad: to a pull with a bad one, a broker gives everything.
func sqlErrors(l *lab) {
	topic := l.createTopic("SqlErrors", 1)
	sender := l.directed("SqlErrors")
	each := at(message(topic, "t", "m0"), "broker-a", 0)
	each.WithProperty("a", "1")
	need(sender.SendSync(background, each))
	for i, expression := range []string{
		"a = 1", "a = 2", "a > 0 AND b IS NULL", "b IS NOT NULL", "a IS NOT NULL OR", "a >", "a BETWEEN 5 AND 1", "'a'", "a = 'x' AND (", "a > 'x'", "a ! 1", "1", "TRUE", " ",
	} {
		puller := l.pullConsumer(fmt.Sprint("SqlErrors", i), topic, consumer.MessageSelector{Type: consumer.SQL92, Expression: expression})
		result, err := puller.PullFrom(background, &primitive.MessageQueue{Topic: topic, BrokerName: "broker-a", QueueId: 0}, 0, 32)
		l.sayPull(fmt.Sprintf("%q", expression), result, err)
		must(puller.Shutdown())
	}
}

func poll(l *lab) {
	topic := l.createTopicAt("Poll", 1, 6, "broker-a")
	sender := l.producer("Poll")
	for i := range 5 {
		need(sender.SendSync(background, message(topic, "t", fmt.Sprint("p", i))))
	}
	l.known("Poll")
	puller := l.pullConsumer("Poll", topic, everything, consumer.WithMaxReconsumeTimes(3))
	queue := l.queuesOf(topic)[0]
	next := func() *consumer.ConsumeRequest {
		for deadline := time.Now().Add(time.Minute); ; {
			got, err := puller.Poll(background, time.Second)
			if err == nil {
				return got
			}
			if !consumer.IsNoNewMsgError(err) || time.Now().After(deadline) {
				panic(err)
			}
		}
	}
	got := next()
	l.say("polled", len(got.GetMsgList()), place(got.GetMQ()))
	puller.ACK(background, got, consumer.ConsumeSuccess)
	must(puller.PersistOffset(background, topic))
	await("the commit", func() bool { return l.committed("Poll", queue) == 5 })
	l.say("committed", l.committed("Poll", queue))
	_, err := puller.Poll(background, 100*time.Millisecond)
	l.sayFailure("nothing more", err)
	need(sender.SendSync(background, message(topic, "t", "fails")))
	got = next()
	l.say("polled to fail", got.GetMsgList()[0].GetKeys())
	puller.ACK(background, got, consumer.ConsumeRetryLater)
	got = next()
	l.say("again", l.describe(got.GetMsgList()[0]))
	puller.ACK(background, got, consumer.ConsumeSuccess)
	must(puller.Shutdown())

	// The client's own defaults: no message at once, for which brokers give one, and no other try.
	puller = l.pullConsumer("PollPlain", topic, everything, consumer.WithPullBatchSize(0))
	got = next()
	l.say("polled by default", len(got.GetMsgList()))
	puller.ACK(background, got, consumer.ConsumeRetryLater)
	l.say("dead", l.describe(l.dead("PollPlain")[0]))
}

func offsets(l *lab) {
	topic := l.createTopic("Offsets", 1)
	sender := l.directed("Offsets")
	queue := &primitive.MessageQueue{Topic: topic, BrokerName: "broker-b", QueueId: 0}
	l.say("before anything", l.committed("Offsets", queue), l.maxOffset(queue))
	for i := range 5 {
		need(sender.SendSync(background, at(message(topic, "t", fmt.Sprint("m", i)), "broker-b", 0)))
	}
	hears := l.ear("Offsets", "offsets").listen(topic, "*").begin()
	await("5", func() bool { return hears.count() == 5 })
	// The client writes offsets down 10 s after its start and then every 5.
	await("written down", func() bool { return l.committed("Offsets", queue) == 5 })
	need(sender.SendSync(background, at(message(topic, "t", "m5"), "broker-b", 0)))
	await("6", func() bool { return hears.count() == 6 })
	await("6 consumed", func() bool { return hears.GetOffsetDiffMap()[topic] == 0 })
	must(hears.Shutdown())
	await("written down at shutdown", func() bool { return l.committed("Offsets", queue) == 6 })
	l.say("committed", l.committed("Offsets", queue))
	l.say("another group", l.committed("OffsetsOther", queue))
	l.say("queue without messages", l.committed("Offsets", &primitive.MessageQueue{Topic: topic, BrokerName: "broker-a", QueueId: 0}))
	need(sender.SendSync(background, at(message(topic, "t", "m6"), "broker-b", 0)))
	again := l.ear("Offsets", "again").listen(topic, "*").begin()
	settled(again)
	l.say("resumed with", again.keys())
}

// reset is asked of a broker by a tool; the broker tells the group's clients, which take 10 s to do it.
// One broker after the other: two resets at once lose one another's offsets, because a client that
// commits the offset of one reset queue forgets those of all other queues.
func reset(l *lab) {
	topic := l.createTopic("Reset", 1)
	sender := l.directed("Reset")
	brokers := []string{"broker-a", "broker-b"}
	send := func(name string) {
		for i := range 4 {
			need(sender.SendSync(background, at(message(topic, "t", fmt.Sprint(name, i)), brokers[i%2], 0)))
		}
	}
	began := time.Now().UnixMilli()
	send("early")
	moment := time.Now().UnixMilli() + 1
	// The broker looks for the message nearest to the moment, which is the last early one of each queue.
	await("a time farther than that", func() bool { return time.Now().UnixMilli()-moment > moment-began })
	send("late")
	askAt := func(broker, key, topic, group string) {
		timestamp := fmt.Sprint(moment)
		got := ask(l.brokers()[broker], invokeBrokerToResetOffset, map[string]string{
			"topic": topic, "group": l.group(group), "timestamp": timestamp, "isForce": "true",
		}, nil)
		l.say(key+" at "+broker, got.Code, strings.ReplaceAll(got.Remark, timestamp, "<moment>"), string(got.body))
	}
	askEach := func(key, topic, group string) {
		for _, broker := range brokers {
			askAt(broker, key, topic, group)
		}
	}
	asked := make(chan struct{})
	hears := l.ear("Reset", "reset").listenWith(topic, everything,
		func(context.Context, []*primitive.MessageExt) consumer.ConsumeResult {
			<-asked // nothing is committed of what is not consumed yet
			return consumer.ConsumeSuccess
		}).begin()
	await("8", func() bool { return hears.count() == 8 })
	askEach("before a commit", topic, "Reset")
	close(asked)
	l.end(hears, "Reset", map[string]int64{topic: 8})
	await("no member at any broker", func() bool { return l.members("Reset") == 0 })
	askEach("no member there", topic, "Reset")
	again := l.ear("Reset", "again").listen(topic, "*").begin()
	await("its share", func() bool { return len(again.share(topic)) == 2 })
	await("a member at both brokers", func() bool { return l.members("Reset") == 2 })
	send("new")
	await("the new ones", func() bool { return len(again.keys()) == 4 })
	before := again.count()
	since := func() []string { return keysOf(again.all()[before:]) }
	for i, broker := range brokers {
		askAt(broker, "reset", topic, "Reset")
		count := 5 * (i + 1)
		await(fmt.Sprint(count, " since the moment"), func() bool { return len(since()) >= count })
	}
	l.say("heard again", since())
	askEach("a group that is not there", topic, "Nobody")
	askEach("a topic that is not there", l.topic("Nothing"), "Reset")
}
