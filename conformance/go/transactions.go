package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Messages at a delay and messages in transactions; the brokers of these scenarios are configured
// for short delays and frequent checks.

func delay(l *lab) {
	topic := l.createTopic("Delay", 1)
	sender := l.producer("Delay")
	hears := l.ear("Delay", "delay").listen(topic, "*").begin()
	for _, level := range []int{1, 2, 3, 0, 30, -1} {
		each := message(topic, "t", fmt.Sprint("level", level)).WithDelayTimeLevel(level)
		result := need(sender.SendSync(background, each))
		l.say(each.GetKeys(), "status=", result.Status, "at", result.MessageQueue.Topic)
	}
	await("6", func() bool { return hears.count() == 6 })
	for _, each := range byKey(hears.all()) {
		l.say(each.GetKeys(), l.describe(each))
	}
	for _, each := range byKey(l.stored(topic, 6)) {
		waited := time.Duration(each.StoreTimestamp-each.BornTimestamp) * time.Millisecond
		least := map[string]time.Duration{"level1": 1, "level2": 2, "level3": 1, "level30": 1}[each.GetKeys()] * time.Second
		l.say(each.GetKeys()+" waited its time", waited >= least-50*time.Millisecond && waited < least+5*time.Second)
	}
}

// A listener answers for local transactions, and counts how often it is asked again.
type listener struct {
	first  func(key string) primitive.LocalTransactionState
	later  func(key string, time int) primitive.LocalTransactionState
	lock   sync.Mutex
	checks map[string]int
	asked  map[string]*primitive.MessageExt
	when   map[string]time.Time
}

func (t *listener) ExecuteLocalTransaction(message *primitive.Message) primitive.LocalTransactionState {
	return t.first(message.GetKeys())
}

func (t *listener) CheckLocalTransaction(message *primitive.MessageExt) primitive.LocalTransactionState {
	t.lock.Lock()
	defer t.lock.Unlock()
	key := message.GetKeys()
	if t.checks[key]++; t.checks[key] == 1 {
		t.asked[key], t.when[key] = message, time.Now()
	}
	return t.later(key, t.checks[key])
}

func (t *listener) checked(key string) int {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.checks[key]
}

func unknown(string) primitive.LocalTransactionState { return primitive.UnknowState }

// A transactional producer is known to all brokers when it is made. Its other half shares the
// connection, which stays open until both are shut down.
type transactional struct {
	rocketmq.TransactionProducer
	other *ear
}

func (t *transactional) Shutdown() error {
	must(t.other.Shutdown())
	return t.TransactionProducer.Shutdown()
}

func (l *lab) transactional(group, instance, topic string, answers *listener) *transactional {
	answers.checks, answers.asked, answers.when = map[string]int{}, map[string]*primitive.MessageExt{}, map[string]time.Time{}
	made := need(rocketmq.NewTransactionProducer(answers,
		l.producing(group, []producer.Option{producer.WithInstanceName(instance + l.suffix)})...))
	must(made.Start())
	return &transactional{made, l.beat(instance, topic)}
}

func transactions(l *lab) {
	topic := l.createTopic("Transactions", 1)
	hears := l.ear("Transactions", "hears").listen(topic, "*").begin()
	sender := l.transactional("Transactions", "transactions", topic, &listener{first: func(key string) primitive.LocalTransactionState {
		if strings.HasPrefix(key, "commit") {
			return primitive.CommitMessageState
		}
		return primitive.RollbackMessageState
	}})
	for _, key := range []string{"commit1", "rollback1", "commit2", "rollback2"} {
		each := message(topic, "TagT", key)
		each.WithProperty("colour", "red")
		result := need(sender.SendMessageInTransaction(background, each))
		l.say(key, "status=", result.Status, "state=", result.State, place(result.MessageQueue),
			"id=", result.TransactionID == result.MsgID, "text=", result.TransactionID == "")
	}
	await("2", func() bool { return hears.count() >= 2 })
	for _, each := range byKey(hears.all()) {
		l.say("heard", l.describe(each), "id", each.TransactionId == each.MsgId)
	}
	// A delayed one is put away under another topic, where nobody finds it to commit it.
	need(sender.SendMessageInTransaction(background, message(topic, "TagT", "commit3").WithDelayTimeLevel(3)))
	need(sender.SendMessageInTransaction(background, message(topic, "TagT", "commit4")))
	await("3", func() bool { return hears.count() >= 3 })
	time.Sleep(3 * time.Second)
	l.say("delayed and not", hears.keys())
}

// checked are transactions whose producer did not know: brokers ask it again.
func checked(l *lab) {
	topic := l.createTopic("Checked", 1)
	hears := l.ear("Checked", "hears").listen(topic, "*").begin()
	never := "never" + l.suffix
	answers := &listener{first: unknown, later: func(key string, time int) primitive.LocalTransactionState {
		switch {
		case key == "commits" || key == "immune" || key == "second" && time == 2:
			return primitive.CommitMessageState
		case key == "rolls back":
			return primitive.RollbackMessageState
		}
		return primitive.UnknowState
	}}
	sender := l.transactional("Checked", "checked", topic, answers)
	begun := time.Now()
	for _, key := range []string{"commits", "rolls back", "second", never, "immune"} {
		each := message(topic, "TagT", key)
		if key == "immune" {
			each.WithProperty("CHECK_IMMUNITY_TIME_IN_SECONDS", "5")
		}
		need(sender.SendMessageInTransaction(background, each))
	}
	awaitFor(60*time.Second, "3", func() bool { return hears.count() >= 3 })
	for _, each := range byKey(hears.all()) {
		if each.GetKeys() == "immune" { // how often it was looked at is a race, where it was put another
			l.say("heard", l.describe(each, "TRANSACTION_CHECK_TIMES", "TRAN_PREPARED_QUEUE_OFFSET"))
		} else {
			l.say("heard", l.describe(each))
		}
	}
	for _, key := range []string{"commits", "rolls back", "second", "immune"} {
		l.say(key+" checked", answers.checked(key))
	}
	l.say("asked", l.asked(answers, "commits"))
	l.say("immunity held", answers.when["immune"].Sub(begun) >= 5*time.Second)
	// Whoever never knows is given up, by the brokers of this test after 3 checks.
	awaitFor(60*time.Second, "it given up", func() bool { return l.givenUp(never) != nil })
	l.say("given up after", answers.checked(never))
	given := l.givenUp(never)
	l.say("given up", l.describe(given))
	must(sender.Shutdown())
}

// asked is the message that a check was for, but for what a check does not say: its broker.
func (l *lab) asked(answers *listener, key string) string {
	answers.lock.Lock()
	defer answers.lock.Unlock()
	each := answers.asked[key]
	for broker, addr := range l.brokers() {
		if each.StoreHost == addr {
			each.Queue.BrokerName = broker
		}
	}
	return l.describe(each) + fmt.Sprint(" id ", each.TransactionId == each.MsgId)
}

func (l *lab) givenUp(key string) *primitive.MessageExt {
	for _, each := range l.stored("TRANS_CHECK_MAX_TIME_TOPIC", 0) {
		if each.GetKeys() == key {
			return each
		}
	}
	return nil
}

// inherited: who is asked when the sender is gone is another producer of its group.
func inherited(l *lab) {
	topic := l.createTopic("Inherited", 1)
	hears := l.ear("Inherited", "hears").listen(topic, "*").begin()
	first := l.transactional("Inherited", "first", topic, &listener{first: unknown})
	need(first.SendMessageInTransaction(background, message(topic, "t", "orphan")))
	must(first.Shutdown())
	heirs := &listener{later: func(string, int) primitive.LocalTransactionState { return primitive.CommitMessageState }}
	l.transactional("Inherited", "second", topic, heirs)
	await("the orphan", func() bool { return hears.count() >= 1 })
	l.say("heard", l.describe(hears.all()[0]))
	l.say("checked by the heir", heirs.checked("orphan"))
}
