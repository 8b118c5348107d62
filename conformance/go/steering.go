package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Clients of a fake that steer it over its control port, with nothing but the standard library. They
// are given no name server address: the variable CONTROL says where an address server is, and the
// control port is both.

const twoHoursLevel = 18

func steered(l *lab) {
	topic := l.topic("Steered")
	l.ask("PUT", "/v1/topics/"+topic, `{"queues": 1}`)
	// The library has a cache of addresses below HOME for each of these names.
	found := func(name string) primitive.NsResolver {
		return primitive.NewHttpResolver(name+l.suffix, control()+"/rocketmq/nsaddr")
	}
	l.createTopicAt("%RETRY%GSteered", 1, 6, "broker-a") // or the client asks for it only after 30 s
	hears := l.ear("Steered", "hearer", consumer.WithNsResolver(found("hearer"))).listen(topic, "*").begin()
	sender := l.producer("Steering", producer.WithNsResolver(found("teller")))

	l.ask("POST", "/v1/clock/freeze", "")
	late := message(topic, "t", "in two hours").WithDelayTimeLevel(twoHoursLevel)
	l.say("sent", need(sender.SendSync(background, late)).Status)
	var waiting []struct {
		Text  string
		Level int
	}
	must(json.Unmarshal(l.ask("GET", "/v1/delayed?topic="+topic, ""), &waiting))
	l.say("waits", waiting[0].Text, "at level", waiting[0].Level)
	l.ask("POST", "/v1/clock/advance", `{"duration": "2h"}`)
	await("the delayed message", func() bool { return hears.count() == 1 })
	l.say("received", hears.keys())
	l.say("delivered", string(l.ask("POST", "/v1/wait-for", fmt.Sprintf(
		`{"delivered": {"topic": %q, "group": %q}, "timeout": "30s"}`, topic, l.group("Steered")))))

	var fault struct{ ID int }
	must(json.Unmarshal(l.ask("POST", "/v1/faults", `{"fault": "silence", "args": ["broker-a"]}`), &fault))
	l.ask("POST", "/v1/clock/advance", `{"duration": "131s"}`)
	stranger := l.producer("Stranger", producer.WithNsResolver(found("stranger")))
	_, err := stranger.SendSync(background, message(topic, "t", "nowhere"))
	l.sayFailure("while it is silent", err)
	l.ask("DELETE", fmt.Sprint("/v1/faults/", fault.ID), "")
	l.ask("POST", "/v1/clock/advance_to_next", `{"kind": "register_broker"}`)
	l.say("route again", l.routeOf(topic))

	var broker struct{ State string }
	must(json.Unmarshal(l.ask("POST", "/v1/brokers/broker-a/kill", ""), &broker))
	_, err = sender.SendSync(background, message(topic, "t", "to a stopped broker"))
	l.say(broker.State, "fails", err != nil)
	must(json.Unmarshal(l.ask("POST", "/v1/brokers/broker-a/restart", ""), &broker))
	await("a send to the same", func() bool {
		_, err = sender.SendSync(background, message(topic, "t", "again"))
		return err == nil
	})
	var stored struct{ Total int }
	must(json.Unmarshal(l.ask("GET", "/v1/topics/"+topic+"/messages", ""), &stored))
	l.say(broker.State, "stored", stored.Total)
}

func control() string { return os.Getenv("CONTROL") }

// ask is what the control port answers; whoever is refused fails.
func (l *lab) ask(method, path, body string) []byte {
	request := need(http.NewRequest(method, control()+path, strings.NewReader(body)))
	request.Header.Set("Content-Type", "application/json")
	answer := need(http.DefaultClient.Do(request))
	defer answer.Body.Close()
	text := need(io.ReadAll(answer.Body))
	if answer.StatusCode != http.StatusOK {
		panic(fmt.Sprint(method, " ", path, ": ", answer.StatusCode, " ", string(text)))
	}
	return text
}
