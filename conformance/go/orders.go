package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// Orderly consumers and their queue locks. The client pulls from a queue 3 s after it got it: the
// lock that it needs comes too late for its first look.

// A score is what was heard in each queue, in order.
type score struct {
	lock  sync.Mutex
	heard map[string][]string
}

func newScore() *score { return &score{heard: map[string][]string{}} }

func (s *score) note(ctx context.Context, message *primitive.MessageExt) {
	orderly, _ := primitive.GetOrderlyCtx(ctx)
	s.lock.Lock()
	defer s.lock.Unlock()
	s.heard[place(&orderly.MQ)] = append(s.heard[place(&orderly.MQ)], message.GetKeys())
}

func (s *score) say(l *lab) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, queue := range slices.Sorted(maps.Keys(s.heard)) {
		l.say("order in "+queue, s.heard[queue])
	}
}

func (s *score) count() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	count := 0
	for _, keys := range s.heard {
		count += len(keys)
	}
	return count
}

func (l *lab) orderlyEar(group, instance, topic string, kept *score,
	judge func(context.Context, *primitive.MessageExt) consumer.ConsumeResult, options ...consumer.Option) *ear {
	return l.ear(group, instance, append(options, consumer.WithConsumerOrder(true))...).listenWith(topic, everything,
		func(ctx context.Context, messages []*primitive.MessageExt) consumer.ConsumeResult {
			for _, each := range messages {
				kept.note(ctx, each)
			}
			if judge != nil {
				return judge(ctx, messages[0])
			}
			return consumer.ConsumeSuccess
		})
}

func (l *lab) sendOrdered(sender rocketmq.Producer, topic, name string, count int) {
	for i := range count {
		broker := []string{"broker-a", "broker-b"}[i%2]
		need(sender.SendSync(background, at(message(topic, "t", fmt.Sprintf("%s%02d", name, i)), broker, i/2%2)))
	}
}

func orderly(l *lab) {
	topic := l.createTopic("Orderly", 2)
	sender := l.directed("Orderly")
	kept := newScore()
	for part := range 2 {
		l.sendOrdered(sender, topic, fmt.Sprint("m", part), 20)
		hears := l.orderlyEar("Orderly", fmt.Sprint("orderly-", part), topic, kept, nil).begin()
		await("20 more", func() bool { return kept.count() >= 20*(part+1) })
		// Shutting down gives the locks back, so the next consumer does not wait for their lease.
		l.end(hears, "Orderly", map[string]int64{topic: int64(20 * (part + 1))})
	}
	kept.say(l)
}

// suspend holds up a queue: its later messages wait for the one that is not done.
func suspend(l *lab) {
	topic := l.createTopic("Suspend", 2)
	sender := l.directed("Suspend")
	kept := newScore()
	l.orderlyEar("Suspend", "suspend", topic, kept,
		func(ctx context.Context, each *primitive.MessageExt) consumer.ConsumeResult {
			if each.GetKeys() == "s04" && each.ReconsumeTimes < 3 {
				orderly, _ := primitive.GetOrderlyCtx(ctx)
				orderly.SuspendCurrentQueueTimeMillis = 100
				return consumer.SuspendCurrentQueueAMoment
			}
			return consumer.ConsumeSuccess
		}).begin()
	l.sendOrdered(sender, topic, "s", 12)
	await("12 and 3 again", func() bool { return kept.count() >= 15 })
	kept.say(l)
}

func orderlyDLQ(l *lab) {
	topic := l.createTopic("OrderlyDead", 2)
	sender := l.directed("OrderlyDead")
	kept := newScore()
	l.orderlyEar("OrderlyDead", "orderly", topic, kept,
		func(_ context.Context, each *primitive.MessageExt) consumer.ConsumeResult {
			if each.GetKeys() == "d04" {
				return consumer.SuspendCurrentQueueAMoment
			}
			return consumer.ConsumeSuccess
		}, consumer.WithMaxReconsumeTimes(1)).begin()
	l.sendOrdered(sender, topic, "d", 12)
	await("12 and 2 again", func() bool { return kept.count() >= 14 })
	kept.say(l)
	for _, each := range l.dead("OrderlyDead") {
		l.say("dead", l.describe(each))
	}
}

// heir takes over from an orderly consumer that died: 60 s after its last lock at the earliest, at
// a turn of the heir's 20 s timer.
func heir(l *lab) {
	topic := l.createTopic("Heir", 2)
	sender := l.directed("Heir")
	l.sendOrdered(sender, topic, "a", 12)
	other := l.doom(topic, "Heir", "orderly")
	l.say("the doomed heard", other.heard(12))
	other.kill()
	death := time.Now()
	l.sendOrdered(sender, topic, "b", 12)
	kept := newScore()
	hears := l.orderlyEar("Heir", "heir", topic, kept, nil).begin()
	awaitFor(130*time.Second, "anything", func() bool { return kept.count() > 0 })
	// The doomed one had locked all a little before it died.
	l.say("the lease held", time.Since(death) > 50*time.Second)
	await("all of b", func() bool { return len(inRound(hears.keys(), "b")) == 12 })
	// What the doomed one had not committed comes again, in order and before what came after it.
	kept.lock.Lock()
	defer kept.lock.Unlock()
	for _, queue := range slices.Sorted(maps.Keys(kept.heard)) {
		keys := kept.heard[queue]
		l.say("in order in "+queue, slices.IsSorted(keys), inRound(keys, "b"))
	}
}
