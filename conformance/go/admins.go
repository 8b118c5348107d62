package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Topics and groups from the client's side, and clients that carry something extra.

func adminCalls(l *lab) {
	client := l.admin()
	topic := l.topic("Admin")
	listed := func() bool {
		return slices.Contains(need(client.FetchAllTopicList(background)).TopicList, topic)
	}
	l.say("listed before", listed())
	for _, addr := range l.brokers() {
		must(client.CreateTopic(background, admin.WithTopicCreate(topic), admin.WithBrokerAddrCreate(addr)))
	}
	l.say("created", l.routeAt(2, topic))
	l.say("listed", listed())
	var places []string
	for _, queue := range need(client.FetchPublishMessageQueues(background, topic)) {
		places = append(places, place(queue))
	}
	l.say("queues to publish to", places)
	for _, addr := range l.brokers() {
		must(client.CreateTopic(background, admin.WithTopicCreate(topic), admin.WithBrokerAddrCreate(addr),
			admin.WithReadQueueNums(3), admin.WithWriteQueueNums(2), admin.WithPerm(6), admin.WithOrder(true)))
	}
	await("the change", func() bool { return strings.Count(fmt.Sprint(l.routeOf(topic)), "read=3 write=2") == 2 })
	l.say("changed", l.routeOf(topic))
	_, err := client.FetchPublishMessageQueues(background, l.topic("None"))
	l.sayFailure("queues of an unknown topic", err)
	must(client.CreateTopic(background, admin.WithTopicCreate("no/slash"), admin.WithBrokerAddrCreate(l.brokers()["broker-a"])))
	l.say("illegal topic made", slices.Contains(need(client.FetchAllTopicList(background)).TopicList, "no/slash"))

	l.ear("Admin", "admin").listen(topic, "*").begin()
	for _, broker := range []string{"broker-a", "broker-b"} {
		groups := need(client.GetAllSubscriptionGroup(background, l.brokers()[broker], 3*time.Second))
		l.say("group at "+broker, fmt.Sprintf("%+v", groups.SubscriptionGroupTable[l.group("Admin")]))
	}
	for _, addr := range l.brokers() {
		must(client.DeleteTopic(background, admin.WithTopicDelete(topic), admin.WithBrokerAddrDelete(addr),
			admin.WithNameSrvAddr([]string{l.namesrv})))
	}
	l.routeAt(0, topic)
	l.say("listed after", listed())
	late := l.producer("AdminLate")
	l.say("made anew by a send", sent(need(late.SendSync(background, message(topic, "t", "k")))))
	l.say("route", len(l.routeAt(1, topic)))
	must(client.Close())
}

// grow gives a live consumer and a live producer a wider topic: they ask for routes every 30 s, and
// the consumer takes up new queues at its next 20 s turn.
func grow(l *lab) {
	topic := l.createTopic("Grow", 1)
	hears := l.ear("Grow", "grow").listen(topic, "*").begin()
	sender := l.producer("Grow")
	need(sender.SendSync(background, message(topic, "t", "before")))
	await("one", func() bool { return hears.count() == 1 })
	l.createTopic("Grow", 3)
	places := map[string]bool{}
	for i := 0; len(places) < 6 && i < 600; i++ {
		places[place(need(sender.SendSync(background, message(topic, "t", fmt.Sprintf("g%03d", i)))).MessageQueue)] = true
		time.Sleep(100 * time.Millisecond)
	}
	l.say("sent to", len(places))
	awaitFor(60*time.Second, "all queues", func() bool { return len(hears.share(topic)) == 6 })
	l.say("share", hears.share(topic))
	total := 0
	for _, queue := range l.queuesOf(topic) {
		total += int(l.maxOffset(queue))
	}
	await("all", func() bool { return len(hears.keys()) == total })
	l.say("heard all, each once", len(hears.keys()) == total, hears.count() == total)
	l.createTopic("Grow", 1)
	awaitFor(60*time.Second, "two queues", func() bool { return len(hears.share(topic)) == 2 })
	l.say("share when it shrank", hears.share(topic))
}

func credentials(l *lab) {
	topic := l.createTopic("Credentials", 1)
	keys := primitive.Credentials{AccessKey: "access key", SecretKey: "secret key", SecurityToken: "token"}
	sender := l.producer("Credentials", producer.WithCredentials(keys))
	l.say("sent", sent(need(sender.SendSync(background, message(topic, "t", "m0")))))
	hears := l.ear("Credentials", "credentials", consumer.WithCredentials(keys)).listen(topic, "*").begin()
	await("it", func() bool { return hears.count() == 1 })
	l.say("heard", l.describe(hears.all()[0]))
}

func namespace(l *lab) {
	name := l.topic("Space")
	topic := l.createTopic(name+"%Namespace", 1)
	hears := l.ear("Namespace", "namespace", consumer.WithNamespace(name)).listen(l.topic("Namespace"), "*").begin()
	outside := l.ear("Namespace", "outside").listen(l.createTopic("Namespace", 1), "*").begin()
	sender := l.producer("Namespace", producer.WithNamespace(name))
	l.say("sent", sent(need(sender.SendSync(background, message(l.topic("Namespace"), "t", "m0")))))
	await("it", func() bool { return hears.count() == 1 })
	l.say("heard", l.describe(hears.all()[0]))
	l.say("heard outside", outside.count())
	l.say("routes", l.routeAt(2, topic), l.routeAt(2, "%RETRY%"+name+"%"+l.group("Namespace")))
}

// trace tells of sends and receptions in messages to RMQ_SYS_TRACE_TOPIC.
func trace(l *lab) {
	topic := l.createTopic("Trace", 1)
	tracing := func() *primitive.TraceConfig {
		return &primitive.TraceConfig{GroupName: l.group("Tracer"), Access: primitive.Local, NamesrvAddrs: []string{l.namesrv}}
	}
	var lock sync.Mutex
	var told []string
	keyed := map[string]bool{}
	l.ear("TraceReader", "reader").listenWith("RMQ_SYS_TRACE_TOPIC", everything,
		func(_ context.Context, messages []*primitive.MessageExt) consumer.ConsumeResult {
			lock.Lock()
			defer lock.Unlock()
			for _, each := range messages {
				for _, record := range strings.Split(string(each.Body), "\x02") {
					fields := strings.Split(record, "\x01")
					if slices.ContainsFunc(fields, func(field string) bool { return strings.HasSuffix(field, l.suffix) }) {
						told = append(told, recorded(fields))
						keyed[fmt.Sprint("keys=", len(strings.Fields(each.GetKeys())) > 0, " tags=", each.GetTags())] = true
					}
				}
			}
			return consumer.ConsumeSuccess
		}).begin()
	l.known("Traced")
	hears := l.ear("Traced", "traced", consumer.WithTrace(tracing())).listenWith(topic, everything,
		func(_ context.Context, messages []*primitive.MessageExt) consumer.ConsumeResult {
			if messages[0].GetKeys() == "fails" && messages[0].ReconsumeTimes == 0 {
				return consumer.ConsumeRetryLater
			}
			return consumer.ConsumeSuccess
		}).begin()
	sender := l.producer("Traced", producer.WithTrace(tracing()))
	for _, key := range []string{"good", "fails"} {
		need(sender.SendSync(background, message(topic, "TagT", key)))
	}
	await("3 receptions", func() bool { return hears.count() == 3 })
	await("2 sends and 3 receptions told of, from both sides", func() bool {
		lock.Lock()
		defer lock.Unlock()
		return len(told) >= 8
	})
	lock.Lock()
	defer lock.Unlock()
	slices.Sort(told)
	for _, record := range told {
		l.say("told", record)
	}
	l.say("messages", keyed)
}

// recorded is a trace record without its times, hosts and ids. The positions are those that the
// client writes; what follows a reception's end is what a reader of 4.9.7 expects there too.
func recorded(fields []string) string {
	hidden := map[string][]int{"Pub": {1, 5, 10, 12, 14}, "SubBefore": {1, 4, 5, 8}, "SubAfter": {1, 2, 3, 7}}[fields[0]]
	for _, i := range hidden {
		if i < len(fields) {
			fields[i] = "*"
		}
	}
	return strings.Join(fields, "|")
}
