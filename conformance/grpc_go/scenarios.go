package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
)

func plain(lab *lab) error {
	topic := lab.name(lab.scenario)
	producer, err := lab.producer(topic, nil)
	if err != nil {
		return err
	}
	for number := range 8 {
		made := message(topic, fmt.Sprintf("m%d", number))
		made.AddProperty("number", fmt.Sprint(number))
		receipt, err := send(producer, made)
		if err != nil {
			return err
		}
		lab.say("sent, id of %d characters", len(receipt.MessageID))
	}
	consumer, err := lab.simple(topic, topic, rmq.SUB_ALL)
	if err != nil {
		return err
	}
	found, err := receive(consumer, 8, 16)
	sort.Slice(found, func(i, j int) bool { return key(found[i]) < key(found[j]) })
	for _, one := range found {
		lab.say("received %s", shown(one))
	}
	return err
}

func sendInOrder(producer rmq.Producer, topic string) error {
	for number := range 6 {
		made := message(topic, fmt.Sprintf("m%d", number))
		made.SetMessageGroup("one group")
		if _, err := send(producer, made); err != nil {
			return err
		}
	}
	return nil
}

func fifo(lab *lab) error {
	topic := lab.name(lab.scenario)
	producer, err := lab.producer(topic, nil)
	if err != nil {
		return err
	}
	if err = sendInOrder(producer, topic); err != nil {
		return err
	}
	consumer, err := lab.simple(topic, topic, rmq.SUB_ALL)
	if err != nil {
		return err
	}
	found, err := receive(consumer, 6, 2)
	lab.say("in order %v", keys(found))
	return err
}

func fifoPush(lab *lab) error {
	topic := lab.name(lab.scenario)
	producer, err := lab.producer(topic, nil)
	if err != nil {
		return err
	}
	heard := &notes{}
	err = lab.push(topic, topic, func(found *rmq.MessageView) bool {
		heard.add(key(found))
		return key(found) != "m2"
	})
	if err != nil {
		return err
	}
	if err = sendInOrder(producer, topic); err != nil {
		return err
	}
	if err = until("the last message", func() bool { return slices.Contains(heard.all(), "m5") }); err != nil {
		return err
	}
	err = lab.sayBuried(topic)
	// This client gives a listener the rest of a batch while one message fails: what is in order are first deliveries.
	first := []string{}
	for _, one := range heard.all() {
		if !slices.Contains(first, one) {
			first = append(first, one)
		}
	}
	lab.say("in order %v", first)
	return err
}

func delay(lab *lab) error {
	topic := lab.name(lab.scenario)
	producer, err := lab.producer(topic, nil)
	if err != nil {
		return err
	}
	due := time.Now().Add(5 * time.Second)
	handles := map[string]string{}
	for _, name := range []string{"gone", "stays"} {
		made := message(topic, name)
		made.SetDelayTimestamp(due)
		receipt, err := send(producer, made)
		if err != nil {
			return err
		}
		handles[name] = receipt.RecallHandle
	}
	_, err = producer.Recall(context.Background(), topic, handles["gone"])
	lab.sayFailure("recalled", err)
	_, err = producer.Recall(context.Background(), topic, "nonsense")
	lab.sayFailure("no handle", err)
	consumer, err := lab.simple(topic, topic, rmq.SUB_ALL)
	if err != nil {
		return err
	}
	found, err := receive(consumer, 1, 16)
	lab.say("received %v early=%v", keys(found), time.Now().Before(due.Add(-time.Second)))
	return err
}

func transaction(lab *lab) error {
	topic := lab.name(lab.scenario)
	checked := &notes{}
	producer, err := lab.producer(topic, func(found *rmq.MessageView) rmq.TransactionResolution {
		switch key(found) {
		case "left":
			checked.add("left")
			return rmq.COMMIT
		case "unwanted":
			checked.add("unwanted")
			return rmq.ROLLBACK
		default: // on a busy machine brokers may ask about one that the producer is about to end
			return rmq.UNKNOWN
		}
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"committed", "rolled-back", "left", "unwanted"} {
		begun := producer.BeginTransaction()
		if _, err := producer.SendWithTransaction(context.Background(), message(topic, name), begun); err != nil {
			return err
		}
		if name == "committed" {
			lab.sayFailure("commit", begun.Commit())
		} else if name == "rolled-back" {
			lab.sayFailure("roll back", begun.RollBack())
		}
	}
	consumer, err := lab.simple(topic, topic, rmq.SUB_ALL)
	if err != nil {
		return err
	}
	found, err := receive(consumer, 2, 16)
	received := keys(found)
	sort.Strings(received)
	lab.say("received %v", received)
	if err != nil {
		return err
	}
	asked := func() []string {
		all := checked.all()
		sort.Strings(all)
		return slices.Compact(all)
	}
	err = until("both checks", func() bool { return len(asked()) == 2 })
	lab.say("checked %v", asked())
	return err
}

func retry(lab *lab) error {
	topic := lab.name(lab.scenario)
	producer, err := lab.producer(topic, nil)
	if err != nil {
		return err
	}
	heard := &notes{}
	err = lab.push(topic, topic, func(found *rmq.MessageView) bool {
		heard.add(fmt.Sprintf("%s %d", key(found), found.GetDeliveryAttempt()))
		return key(found) == "good" || key(found) == "once" && found.GetDeliveryAttempt() > 1
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"good", "once", "bad"} {
		if _, err := send(producer, message(topic, name)); err != nil {
			return err
		}
	}
	if err = until("six deliveries", func() bool { return len(heard.all()) >= 6 }); err != nil {
		return err
	}
	err = lab.sayBuried(topic)
	all := heard.all()
	sort.Strings(all)
	lab.say("heard %v", all)
	return err
}

func change(lab *lab) error {
	topic := lab.name(lab.scenario)
	producer, err := lab.producer(topic, nil)
	if err != nil {
		return err
	}
	consumer, err := lab.simple(topic, topic, rmq.SUB_ALL)
	if err != nil {
		return err
	}
	if _, err = send(producer, message(topic, "sooner")); err != nil {
		return err
	}
	first, err := receiveOne(consumer)
	if err != nil {
		return err
	}
	began := time.Now()
	lab.sayFailure("change", consumer.ChangeInvisibleDuration(first, 2*time.Second))
	again, err := receiveOne(consumer)
	if err != nil {
		return err
	}
	lab.say("it came again %s early=%v", shown(again), time.Since(began) < 1900*time.Millisecond)
	lab.sayFailure("ack", consumer.Ack(context.Background(), again))
	return nil
}

func filters(lab *lab) error {
	topic := lab.name(lab.scenario)
	producer, err := lab.producer(topic, nil)
	if err != nil {
		return err
	}
	for number := range 6 {
		made := message(topic, fmt.Sprintf("m%d", number))
		made.SetTag("t" + string("abc"[number%3]))
		made.AddProperty("number", fmt.Sprint(number))
		if _, err := send(producer, made); err != nil {
			return err
		}
	}
	for _, filter := range []struct {
		name  string
		count int
		by    *rmq.FilterExpression
	}{
		{"Tag", 2, rmq.NewFilterExpression("ta")},
		{"Tags", 4, rmq.NewFilterExpression("ta || tc")},
		{"Sql", 2, rmq.NewFilterExpressionWithType("number > 3", rmq.SQL92)},
	} {
		consumer, err := lab.simple(lab.name(filter.name), topic, filter.by)
		if err != nil {
			return err
		}
		found, err := receive(consumer, filter.count, 16)
		received := keys(found)
		sort.Strings(received)
		lab.say("%s %v", filter.name, received)
		if err != nil {
			return err
		}
	}
	return nil
}

func refused(lab *lab) error {
	topic := lab.name(lab.scenario)
	producer, err := lab.producer(topic, nil)
	if err != nil {
		return err
	}
	made := message(topic, "ordered")
	made.SetMessageGroup("g")
	_, err = send(producer, made)
	lab.sayFailure("of another type", err)
	_, err = send(producer, message(lab.name("nowhere"), "lost"))
	lab.sayFailure("to no topic", err)
	_, err = lab.producer(lab.name("nowhere"), nil)
	lab.sayFailure("a producer of no topic", err)
	return nil
}

// Sends and receives side by side, while somebody else ends the master: for CONFORMANCE_SECONDS, and until what was
// acknowledged has come and nothing more comes, or its time is over: who reads the lines sees what is missing.
func failOver(lab *lab) error {
	topic := lab.name(lab.scenario)
	seconds, err := strconv.Atoi(os.Getenv("CONFORMANCE_SECONDS"))
	if err != nil {
		return err
	}
	producer, err := lab.producer(topic, nil)
	if err != nil {
		return err
	}
	consumer, err := lab.simple(topic, topic, rmq.SUB_ALL)
	if err != nil {
		return err
	}
	sent, done := &notes{}, make(chan struct{})
	go func() {
		defer close(done)
		end := time.Now().Add(time.Duration(seconds) * time.Second)
		for number := 0; time.Now().Before(end); number++ {
			name := fmt.Sprintf("m%d", number)
			if _, err := send(producer, message(topic, name)); err == nil {
				sent.add(name)
				lab.say("sent: %s", name)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	received, last := map[string]bool{}, time.Now()
	hear := func() {
		for _, one := range receiveSome(consumer, 16) {
			last = time.Now()
			received[key(one)] = true
			lab.say("received: %s", key(one))
			consumer.Ack(context.Background(), one)
		}
	}
	for sending := true; sending; {
		hear()
		select {
		case <-done:
			sending = false
		default:
		}
	}
	for deadline := time.Now().Add(3 * quiet); time.Now().Before(deadline); {
		hear()
		missing := slices.ContainsFunc(sent.all(), func(name string) bool { return !received[name] })
		if !missing && time.Since(last) > quiet {
			break
		}
	}
	return nil
}

// Subscribes to two lite topics, to one of them no longer; each message is heard before the next one is sent.
func lite(lab *lab) error {
	topic := lab.name(lab.scenario)
	producer, err := lab.producer(topic, nil)
	if err != nil {
		return err
	}
	heard := &notes{}
	consumer, err := lab.lite(topic, topic, func(found *rmq.MessageView) bool {
		heard.add(fmt.Sprintf("%s of %s attempt %d", key(found), found.GetLiteTopic(), found.GetDeliveryAttempt()))
		return key(found) != "m1" || found.GetDeliveryAttempt() > 1
	})
	if err != nil {
		return err
	}
	sendTo := func(name, liteTopic, awaited string) error {
		made := message(topic, name)
		made.SetLiteTopic(liteTopic)
		if _, err := send(producer, made); err != nil || awaited == "" {
			return err
		}
		return until(awaited, func() bool { return slices.Contains(heard.all(), awaited) })
	}
	for _, liteTopic := range []string{"a", "b"} {
		if err = consumer.SubscribeLite(liteTopic); err != nil {
			return err
		}
	}
	if err = sendTo("m0", "a", "m0 of a attempt 1"); err != nil {
		return err
	}
	if err = sendTo("m1", "b", "m1 of b attempt 2"); err != nil {
		return err
	}
	if err = consumer.UnSubscribeLite("a"); err != nil {
		return err
	}
	if err = sendTo("unheard", "a", ""); err != nil {
		return err
	}
	if err = sendTo("m2", "b", "m2 of b attempt 1"); err != nil {
		return err
	}
	lab.say("heard %v", heard.all())
	lab.sayFailure("a name that no lite topic has", consumer.SubscribeLite("a b"))
	_, err = send(producer, message(topic, "plain"))
	lab.sayFailure("without a lite topic", err)
	return nil
}
