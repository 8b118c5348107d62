package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Push consumers: filters, queue shares, a death, broadcasting, where to begin, being tried again.

func push(l *lab) {
	topic := l.createTopic("Push", 2)
	sender := l.producer("Push")
	all := l.ear("PushAll", "all").listen(topic, "*").begin()
	tagA := l.ear("PushA", "tagA").listen(topic, "TagA").begin()
	tagAC := l.ear("PushAC", "tagAC").listen(topic, "TagA || TagC").begin()
	// "Aa" and "BB" have the same hash code: the broker's filter passes both, the client's must not.
	collide := l.ear("PushAa", "tagAa").listen(topic, "Aa").begin()
	tags := []string{"TagA", "TagB", "TagC", "Aa", "BB", ""}
	for i := range 12 {
		need(sender.SendSync(background, message(topic, tags[i%len(tags)], fmt.Sprintf("m%02d", i))))
	}
	await("12 by *", func() bool { return all.count() >= 12 })
	await("2 by TagA", func() bool { return tagA.count() >= 2 })
	await("4 by TagA || TagC", func() bool { return tagAC.count() >= 4 })
	await("2 by Aa", func() bool { return collide.count() >= 2 })
	for _, each := range byKey(all.all()) {
		l.say("* got", l.describe(each))
	}
	l.say("TagA got", tagA.keys(), "in", tagA.count())
	l.say("TagA || TagC got", tagAC.keys(), "in", tagAC.count())
	l.say("Aa got", collide.keys(), "in", collide.count())
	l.say("retry topic", l.routeAt(2, "%RETRY%"+l.group("PushAll")))

	// Nothing is committed for this group, yet "last" starts at 0: the topic is young and in memory.
	last := l.ear("PushLast", "last", consumer.WithConsumeFromWhere(consumer.ConsumeFromLastOffset)).listen(topic, "*").begin()
	await("12 from last", func() bool { return last.count() >= 12 })
	l.say("CONSUME_FROM_LAST_OFFSET got", last.keys(), "in", last.count())

	l.end(all, "PushAll", map[string]int64{topic: 12})
	again := l.ear("PushAll", "again").listen(topic, "*").begin()
	need(sender.SendSync(background, message(topic, "TagA", "later")))
	await("the later one", func() bool { return again.count() > 0 })
	l.say("after restart got", again.keys())

	l.sayFailure("subscribe after shutdown", all.Subscribe(topic, everything, nil))
	l.sayFailure("a topic that is not there", l.ear("PushNone", "none").listen(l.topic("None"), "*").Start())
	l.sayFailure("group with a space", l.ear("Push None", "none2").listen(topic, "*").Start())
	l.sayFailure("a second consumer of the group in one instance", l.ear("PushLast", "last").listen(topic, "*").Start())
}

// batches are what a listener is given at once, up to its own limit.
func batches(l *lab) {
	topic := l.createTopicAt("Batches", 1, 6, "broker-a")
	sender := l.producer("Batches")
	for i := range 10 {
		need(sender.SendSync(background, message(topic, "t", fmt.Sprint("m", i))))
	}
	sizes := make(chan int, 100)
	hears := l.ear("Batches", "batches", consumer.WithConsumeMessageBatchMaxSize(4), consumer.WithConsumeGoroutineNums(1)).
		listenWith(topic, everything, func(_ context.Context, messages []*primitive.MessageExt) consumer.ConsumeResult {
			sizes <- len(messages)
			return consumer.ConsumeSuccess
		}).begin()
	await("10", func() bool { return hears.count() == 10 })
	await("10 gone", func() bool { return hears.GetOffsetDiffMap()[topic] == 0 })
	l.say("batches", <-sizes, <-sizes, <-sizes)
	few := l.ear("BatchesFew", "few", consumer.WithPullBatchSize(3), consumer.WithConsumeMessageBatchMaxSize(32)).listen(topic, "*").begin()
	await("10 in pulls of 3", func() bool { return few.count() == 10 })
	l.say("pulled in threes", few.keys())
}

func rebalance(l *lab) {
	topic := l.createTopic("Rebalance", 4)
	sender := l.directed("Rebalance")
	one := l.ear("Rebalance", "c1").listen(topic, "*").begin()
	await("one has all", func() bool { return len(one.share(topic)) == 8 })
	l.say("alone", one.share(topic))
	l.sendRound(sender, topic, "a")
	await("round a", func() bool { return len(one.keys()) == 16 })

	two := l.ear("Rebalance", "c2").listen(topic, "*").begin()
	await("halves", func() bool { return len(one.share(topic)) == 4 && len(two.share(topic)) == 4 })
	l.say("first of two", one.share(topic))
	l.say("second of two", two.share(topic))
	l.sendRound(sender, topic, "b")
	await("round b", func() bool { return len(both(one, two)) == 32 })
	l.say("each heard its half of round b", len(inRound(one.keys(), "b")) == 8, len(inRound(two.keys(), "b")) == 8)

	must(one.Shutdown())
	await("two has all", func() bool { return len(two.share(topic)) == 8 })
	l.say("left alone", two.share(topic))
	l.sendRound(sender, topic, "c")
	await("round c", func() bool { return len(inRound(two.keys(), "c")) == 16 })
	l.say("all rounds heard", len(both(one, two)))
}

func (l *lab) sendRound(sender rocketmq.Producer, topic, name string) {
	for i := range round {
		broker := []string{"broker-a", "broker-b"}[i%2]
		need(sender.SendSync(background, at(message(topic, "t", fmt.Sprint(name, i)), broker, i/2%4)))
	}
}

func inRound(keys []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !strings.HasPrefix(key, name) })
}

func both(one, two *ear) map[string]bool {
	keys := map[string]bool{}
	for _, key := range append(one.keys(), two.keys()...) {
		keys[key] = true
	}
	return keys
}

// A doomed consumer runs in a process of its own, to be killed.
type doomed struct {
	*exec.Cmd
	keys chan string
}

func (l *lab) doom(topic, group string, arguments ...string) *doomed {
	command := exec.Command(os.Args[0], append([]string{l.namesrv, "consume", topic, l.group(group), "*", "doomed" + l.suffix}, arguments...)...)
	need(command.StdinPipe()) // its end is our end
	command.Stderr = os.Stderr
	lines := bufio.NewScanner(need(command.StdoutPipe()))
	made := &doomed{command, make(chan string, 1000)}
	must(command.Start())
	go func() {
		for lines.Scan() {
			if fields := strings.Fields(lines.Text()); fields[0] == "recv" {
				made.keys <- fields[2]
			}
		}
		close(made.keys)
	}()
	return made
}

func (d *doomed) heard(count int) []string {
	keys := map[string]bool{}
	for key := range d.keys {
		if keys[key] = true; len(keys) == count {
			return slices.Sorted(maps.Keys(keys))
		}
	}
	panic("the doomed consumer ended by itself")
}

func (d *doomed) kill() {
	must(d.Process.Kill())
	_ = d.Wait()
}

func dying(l *lab) {
	topic := l.createTopic("Dying", 4)
	sender := l.directed("Dying")
	survivor := l.ear("Dying", "c1").listen(topic, "*").begin()
	await("all queues", func() bool { return len(survivor.share(topic)) == 8 })
	other := l.doom(topic, "Dying")
	await("halves", func() bool { return len(survivor.share(topic)) == 4 })
	l.say("beside the doomed", survivor.share(topic))
	l.sendRound(sender, topic, "a")
	heard := other.heard(8)
	l.say("the doomed heard", heard)
	await("other half", func() bool { return len(survivor.keys()) >= 8 })
	other.kill()
	death := time.Now()
	await("all queues", func() bool { return len(survivor.share(topic)) == 8 })
	// The broker tells the survivors when the socket closes; nobody waits for the 20 s rebalance timer.
	l.say("told of the death, not timed", time.Since(death) < 10*time.Second)
	l.sendRound(sender, topic, "b")
	await("round b", func() bool { return len(inRound(survivor.keys(), "b")) == 16 })
	keys := survivor.keys()
	l.say("heard by either", len(slices.Compact(slices.Sorted(slices.Values(append(keys, heard...))))))
}

func broadcast(l *lab) {
	topic := l.createTopic("Broadcast", 2)
	sender := l.producer("Broadcast")
	hearer := func(instance string) *ear {
		return l.ear("Broadcast", instance, consumer.WithConsumerModel(consumer.BroadCasting)).listen(topic, "*").begin()
	}
	ears := []*ear{hearer("c1"), hearer("c2")}
	for i := range 8 {
		need(sender.SendSync(background, message(topic, "t", fmt.Sprint("m", i))))
	}
	for _, each := range ears {
		await("8 messages", func() bool { return len(each.keys()) == 8 })
		l.say("heard", each.keys(), "in", each.count())
	}
	must(ears[0].Shutdown())
	l.say("committed at the brokers", l.committedIn("Broadcast", topic))
	for i := range 4 {
		need(sender.SendSync(background, message(topic, "t", fmt.Sprint("n", i))))
	}
	await("4 more", func() bool { return len(ears[1].keys()) == 12 })
	again := hearer("c1")
	await("4 missed", func() bool { return len(again.keys()) >= 4 })
	l.say("after restart heard", again.keys(), "in", again.count())
	l.say("retry topic", l.routeAt(2, "%RETRY%"+l.group("Broadcast")))
}

// where consumers begin whom nothing was committed for: broadcasting ones, because brokers answer
// 0 to a young group of clustering ones.
func where(l *lab) {
	topic := l.createTopic("Where", 1)
	sender := l.directed("Where")
	send := func(name string) {
		for i := range 3 {
			need(sender.SendSync(background, at(message(topic, "t", fmt.Sprint(name, i)), "broker-a", 0)))
		}
	}
	send("early")
	// The client tells times in whole seconds, and the broker looks for the nearest message.
	time.Sleep(1100 * time.Millisecond)
	moment := time.Now().UTC().Format("20060102150405")
	time.Sleep(2500 * time.Millisecond)
	send("middle")
	hearer := func(group string, from consumer.ConsumeFromWhere, options ...consumer.Option) *ear {
		options = append(options, consumer.WithConsumerModel(consumer.BroadCasting), consumer.WithConsumeFromWhere(from))
		return l.ear(group, group, options...).listen(topic, "*").begin()
	}
	first := hearer("WhereFirst", consumer.ConsumeFromFirstOffset)
	then := hearer("WhereTime", consumer.ConsumeFromTimestamp, consumer.WithConsumeTimestamp(moment))
	before := hearer("WhereBefore", consumer.ConsumeFromTimestamp, consumer.WithConsumeTimestamp("20000101000000"))
	after := hearer("WhereAfter", consumer.ConsumeFromTimestamp, consumer.WithConsumeTimestamp("20990101000000"))
	last := hearer("WhereLast", consumer.ConsumeFromLastOffset)
	await("first", func() bool { return first.count() == 6 })
	time.Sleep(4 * time.Second) // those who begin at the end must have asked where that is
	send("late")
	for _, each := range []*ear{first, then, before, after, last} {
		await("the late ones", func() bool { return len(inRound(each.keys(), "late")) == 3 })
	}
	l.say("first", first.keys())
	l.say("timestamp", then.keys())
	l.say("long ago", before.keys())
	l.say("in the future", after.keys())
	l.say("last", last.keys())
}

// retry fails some messages: %RETRY% and its delays, then %DLQ%.
func retry(l *lab) {
	topic := l.createTopic("Retry", 1)
	sender := l.producer("Retry")
	l.known("Retry")
	hears := l.ear("Retry", "retry", consumer.WithMaxReconsumeTimes(2)).listenWith(topic, everything,
		func(_ context.Context, messages []*primitive.MessageExt) consumer.ConsumeResult {
			each := messages[0]
			if each.GetKeys() == "never" || each.GetKeys() == "once" && each.ReconsumeTimes == 0 {
				return consumer.ConsumeRetryLater
			}
			return consumer.ConsumeSuccess
		}).begin()
	for _, key := range []string{"never", "once", "good"} {
		need(sender.SendSync(background, message(topic, "TagR", key)))
	}
	await("6 attempts", func() bool { return hears.count() >= 6 })
	dead := l.dead("Retry")
	for _, each := range byKey(hears.all()) {
		l.say("attempt", l.describe(each))
	}
	for _, each := range dead {
		l.say("dead", l.describe(each))
	}
	l.say("routes", l.routeAt(2, "%RETRY%"+l.group("Retry")), l.routeAt(1, "%DLQ%"+l.group("Retry")))
	// Each attempt stored a message in %RETRY%, and all are done.
	l.end(hears, "Retry", map[string]int64{topic: 3, "%RETRY%" + l.group("Retry"): 3})
	l.say("committed", l.committedIn("Retry", topic), l.committedIn("Retry", "%RETRY%"+l.group("Retry")))
}

// dead are the messages that a group gave up; their topic is made with the first.
func (l *lab) dead(group string) []*primitive.MessageExt {
	topic := "%DLQ%" + l.group(group)
	l.routeAt(1, topic)
	return l.stored(topic, 1)
}

// levels are asked for by the listener: one of its own, or none more.
func levels(l *lab) {
	topic := l.createTopic("Levels", 1)
	sender := l.producer("Levels")
	l.known("Levels")
	hears := l.ear("Levels", "levels").listenWith(topic, everything,
		func(ctx context.Context, messages []*primitive.MessageExt) consumer.ConsumeResult {
			each := messages[0]
			concurrently, _ := primitive.GetConcurrentlyCtx(ctx)
			if each.ReconsumeTimes > 0 {
				return consumer.ConsumeSuccess
			}
			concurrently.DelayLevelWhenNextConsume = map[string]int{"two": 2, "none": -1, "high": 99}[each.GetKeys()]
			return consumer.ConsumeRetryLater
		}).begin()
	for _, key := range []string{"two", "none"} {
		need(sender.SendSync(background, message(topic, "t", key)))
	}
	await("3 attempts", func() bool { return hears.count() >= 3 })
	dead := l.dead("Levels")
	for _, each := range byKey(hears.all()) {
		l.say("attempt", l.describe(each))
	}
	l.say("dead", l.describe(dead[0]))
}

// expired messages, held too long by their listener, are sent back by the client's own timer.
func expired(l *lab) {
	topic := l.createTopic("Expired", 1)
	sender := l.producer("Expired")
	l.known("Expired")
	hears := l.ear("Expired", "expired", consumer.WithConsumeTimeout(2*time.Second)).listenWith(topic, everything,
		func(_ context.Context, messages []*primitive.MessageExt) consumer.ConsumeResult {
			if messages[0].ReconsumeTimes == 0 {
				time.Sleep(8 * time.Second)
			}
			return consumer.ConsumeSuccess
		}).begin()
	need(sender.SendSync(background, message(topic, "t", "slow")))
	await("it again", func() bool { return hears.count() >= 2 })
	l.say("again", l.describe(hears.all()[1]))
}

func sql(l *lab) {
	topic := l.createTopic("Sql", 2)
	sender := l.producer("Sql")
	expressions := []string{
		"a BETWEEN 2 AND 4",
		"a > 3 AND b = 'odd'",
		"a IN ('1', '5')",
		"b IN ('even')",
		"c IS NULL",
		"c IS NOT NULL AND a <= 5",
		"TAGS = 'TagB' OR a >= 7",
		"NOT (b = 'odd')",
		"a = 3 OR c = TRUE",
		"a > 2.5 AND a < 4.5",
		"a NOT BETWEEN 1 AND 6",
	}
	var ears []*ear
	for i, expression := range expressions {
		group := fmt.Sprint("Sql", i)
		ears = append(ears, l.ear(group, group).
			listenWith(topic, consumer.MessageSelector{Type: consumer.SQL92, Expression: expression}, nil).begin())
	}
	all := l.ear("SqlAll", "all").listen(topic, "*").begin()
	for i := range 9 {
		each := message(topic, []string{"TagA", "TagB"}[i/2%2], fmt.Sprint("m", i))
		if i != 6 {
			each.WithProperty("a", fmt.Sprint(i))
		}
		each.WithProperty("b", []string{"even", "odd"}[i%2])
		if i%3 == 0 {
			each.WithProperty("c", "true")
		}
		need(sender.SendSync(background, each))
	}
	await("9 by *", func() bool { return all.count() >= 9 })
	settled(ears...)
	for i, expression := range expressions {
		l.say(expression, ears[i].keys(), "in", ears[i].count())
	}
}

// settled waits until every ear has heard something, and then none anything for 4 seconds: a client
// that was refused a pull, for instance because its heartbeat is still on its way, waits for 3.
func settled(ears ...*ear) {
	total := func() int {
		sum := 0
		for _, each := range ears {
			sum += each.count()
		}
		return sum
	}
	for _, each := range ears {
		await("anything at all", func() bool { return each.count() > 0 })
	}
	for before := -1; before != total(); {
		before = total()
		time.Sleep(4 * time.Second)
	}
}

func interceptors(l *lab) {
	topic := l.createTopic("Interceptors", 1)
	var order []string
	noting := func(name string) primitive.Interceptor {
		return func(ctx context.Context, request, reply any, next primitive.Invoker) error {
			order = append(order, name+" before")
			err := next(ctx, request, reply)
			order = append(order, name+" after")
			return err
		}
	}
	sender := l.producer("Interceptors", producer.WithInterceptor(noting("outer"), noting("inner"),
		func(ctx context.Context, request, reply any, next primitive.Invoker) error {
			err := next(ctx, request, reply)
			if known, ok := primitive.GetProducerCtx(ctx); ok {
				l.say("sending", known.CommunicationMode, known.ProducerGroup, place(&known.MQ), known.BrokerAddr == l.brokers()[known.MQ.BrokerName])
			}
			return err
		}))
	l.say("sent", sent(need(sender.SendSync(background, message(topic, "t", "m0")))))
	l.say("order", order)
	seen := make(chan string, 10)
	hears := l.ear("Interceptors", "interceptors", consumer.WithInterceptor(
		func(ctx context.Context, request, reply any, next primitive.Invoker) error {
			known, _ := primitive.GetConsumerCtx(ctx)
			err := next(ctx, request, reply)
			seen <- fmt.Sprint(known.ConsumerGroup, " ", known.MQ.Topic, " ", len(known.Msgs), " success=", known.Success,
				" ", known.Properties)
			return err
		})).listen(topic, "*").begin()
	await("it", func() bool { return hears.count() == 1 })
	l.say("consumed", <-seen)
}
