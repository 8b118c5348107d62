package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

var background = context.Background()

// must ends the scenario with what went wrong.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func need[T any](value T, err error) T {
	must(err)
	return value
}

// A lab has the names, clients and printing of one scenario. Every client has an instance name of
// its own: the library shares one connection, and with it one client id, among clients of one name.
type lab struct {
	namesrv, suffix string
	saying          sync.Mutex
	masters         map[string]string // addresses by broker name
	reader          rocketmq.PullConsumer
}

func newLab(namesrv, suffix string) *lab {
	return &lab{namesrv: namesrv, suffix: suffix}
}

var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// plain takes out of a text what no two runs share: the run's suffix, ports.
func (l *lab) plain(text string) string {
	if l.suffix != "" {
		text = strings.ReplaceAll(text, l.suffix, "")
	}
	return strings.ReplaceAll(ports.ReplaceAllString(text, "127.0.0.1:PORT"), "\n", " ")
}

// say prints one observation.
func (l *lab) say(key string, values ...any) {
	l.saying.Lock()
	defer l.saying.Unlock()
	fmt.Println("= " + l.plain(key+": "+strings.TrimSuffix(fmt.Sprintln(values...), "\n")))
}

func (l *lab) sayFailure(key string, err error) {
	if err == nil {
		l.say(key, "no failure")
	} else {
		l.say(key, "failure,", err)
	}
}

func (l *lab) topic(name string) string { return name + l.suffix }

func (l *lab) group(name string) string { return "G" + name + l.suffix }

// await polls: the client gives no event for most of what scenarios wait for. It is patient: who
// loses a heartbeat on a busy machine is found only by the next, 30 s later.
func await(what string, condition func() bool) { awaitFor(60*time.Second, what, condition) }

func awaitFor(limit time.Duration, what string, condition func() bool) {
	deadline := time.Now().Add(limit)
	for !condition() {
		if time.Now().After(deadline) {
			panic(fmt.Sprintf("%v have passed without: %s", limit, what))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// -- the cluster ------------------------------------------------------------------------------

var master = regexp.MustCompile(`\{"brokerAddrs":\{"?0"?:"([^"]+)"[^}]*\},"brokerName":"([^"]+)"`)

func (l *lab) brokers() map[string]string {
	if l.masters == nil {
		l.masters = map[string]string{}
		info := ask(l.namesrv, getBrokerClusterInfo, nil, nil)
		for _, found := range master.FindAllStringSubmatch(string(info.body), -1) {
			l.masters[found[2]] = found[1]
		}
	}
	return l.masters
}

func (l *lab) admin() admin.Admin {
	return need(admin.NewAdmin(admin.WithResolver(primitive.NewPassthroughResolver([]string{l.namesrv}))))
}

// A share is what one broker has of a topic.
type share struct {
	broker            string
	perm, read, write int
}

func (s share) String() string {
	return fmt.Sprintf("%s perm=%d read=%d write=%d", s.broker, s.perm, s.read, s.write)
}

var queueData = regexp.MustCompile(`"brokerName":"([^"]+)","perm":(\d+),"readQueueNums":(\d+),` +
	`"topicSysFlag":\d+,"writeQueueNums":(\d+)`)

// routeOf is a topic's route, sorted by broker; nothing where there is none.
func (l *lab) routeOf(topic string) []share {
	route := ask(l.namesrv, getRouteInfoByTopic, map[string]string{"topic": topic}, nil)
	var found []share
	for _, data := range queueData.FindAllStringSubmatch(string(route.body), -1) {
		number := func(i int) int { return need(strconv.Atoi(data[i])) }
		found = append(found, share{data[1], number(2), number(3), number(4)})
	}
	slices.SortFunc(found, func(a, b share) int { return strings.Compare(a.broker, b.broker) })
	return found
}

// routeAt waits until that many brokers have a topic: what a broker makes by itself, it tells the
// name server without waiting.
func (l *lab) routeAt(count int, topic string) []share {
	await(fmt.Sprint(topic, " at ", count), func() bool { return len(l.routeOf(topic)) == count })
	return l.routeOf(topic)
}

// createTopic creates or changes a topic on every master and waits until its route says so.
func (l *lab) createTopic(name string, queues int) string { return l.createTopicPerm(name, queues, 6) }

func (l *lab) createTopicPerm(name string, queues, perm int) string {
	return l.createTopicAt(name, queues, perm, "broker-a", "broker-b")
}

func (l *lab) createTopicAt(name string, queues, perm int, brokers ...string) string {
	topic := l.topic(name)
	client := l.admin()
	defer client.Close()
	for _, broker := range brokers {
		must(client.CreateTopic(background, admin.WithTopicCreate(topic), admin.WithBrokerAddrCreate(l.brokers()[broker]),
			admin.WithReadQueueNums(queues), admin.WithWriteQueueNums(queues), admin.WithPerm(perm)))
	}
	await("route of "+topic, func() bool {
		route := l.routeOf(topic)
		return len(route) == len(brokers) && !slices.ContainsFunc(route, func(at share) bool {
			return at.perm != perm || at.read != queues || at.write != queues
		})
	})
	return topic
}

// -- clients ----------------------------------------------------------------------------------

func (l *lab) newProducer(name string, options ...producer.Option) rocketmq.Producer {
	return need(rocketmq.NewProducer(l.producing(name, options)...))
}

func (l *lab) producing(name string, options []producer.Option) []producer.Option {
	return append([]producer.Option{
		producer.WithNameServer([]string{l.namesrv}),
		producer.WithGroupName(l.group(name)),
		producer.WithInstanceName("producer-" + name + l.suffix),
	}, options...)
}

func (l *lab) producer(name string, options ...producer.Option) rocketmq.Producer {
	made := l.newProducer(name, options...)
	must(made.Start())
	return made
}

// settled is a producer whose first look for routes is over: ten milliseconds after its start a client
// takes for every topic it has sent to that topic's own route, and of one that is being made the name
// server knows a single broker yet. A second after its start it beats, at the brokers it has met.
func (l *lab) settled(name string, options ...producer.Option) rocketmq.Producer {
	made := l.producer(name, options...)
	need(made.SendSync(background, message(l.createTopic("Settled", 1), "t", "k")))
	for _, addr := range l.brokers() {
		await("heartbeat of "+name, func() bool {
			return ask(addr, getProducerConnectionList, map[string]string{"producerGroup": l.group(name)}, nil).Code == 0
		})
	}
	return made
}

// beat makes the brokers know the producers of an instance at once: a producer alone is announced
// a second after its start to the brokers it has met, and then every 30; a consumer at its start.
func (l *lab) beat(instance, topic string) *ear {
	return l.ear("Beat"+instance, instance).listen(topic, "no such tag").begin()
}

// directed sends to the queue that each message names.
func (l *lab) directed(name string, options ...producer.Option) rocketmq.Producer {
	return l.producer(name, append(options, producer.WithQueueSelector(producer.NewManualQueueSelector()))...)
}

// An ear is a push consumer, all it was given, and the queues it was last allotted of each topic.
type ear struct {
	rocketmq.PushConsumer
	lock   sync.Mutex
	heard  []*primitive.MessageExt
	shares map[string][]string
}

func (l *lab) ear(group, instance string, options ...consumer.Option) *ear {
	made := &ear{shares: map[string][]string{}}
	made.PushConsumer = need(rocketmq.NewPushConsumer(append([]consumer.Option{
		consumer.WithNameServer([]string{l.namesrv}),
		consumer.WithGroupName(l.group(group)),
		consumer.WithInstance(instance + l.suffix),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithStrategy(made.allot),
	}, options...)...))
	return made
}

// allot is the client's own strategy; it keeps what it decided, which nothing else tells.
func (e *ear) allot(group, id string, all []*primitive.MessageQueue, ids []string) []*primitive.MessageQueue {
	share := consumer.AllocateByAveragely(group, id, all, ids)
	if len(all) > 0 {
		var names []string
		for _, queue := range share {
			names = append(names, place(queue))
		}
		e.lock.Lock()
		e.shares[all[0].Topic] = names
		e.lock.Unlock()
	}
	return share
}

func (e *ear) share(topic string) []string {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.shares[topic]
}

func (e *ear) listen(topic, expression string) *ear {
	return e.listenWith(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: expression}, nil)
}

// listenWith keeps every message and, where there is one, lets judge say what to answer.
func (e *ear) listenWith(topic string, selector consumer.MessageSelector,
	judge func(context.Context, []*primitive.MessageExt) consumer.ConsumeResult) *ear {
	must(e.Subscribe(topic, selector, func(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		e.lock.Lock()
		e.heard = append(e.heard, messages...)
		e.lock.Unlock()
		if judge != nil {
			return judge(ctx, messages), nil
		}
		return consumer.ConsumeSuccess, nil
	}))
	return e
}

// known makes a group that exists already: its retry topic is there when a member starts. A Go
// client asks for the route of one that its own start makes only 30 seconds later.
func (l *lab) known(group string) { l.createTopic("%RETRY%G"+group, 1) }

func (e *ear) begin() *ear {
	must(e.Start())
	return e
}

func (e *ear) all() []*primitive.MessageExt {
	e.lock.Lock()
	defer e.lock.Unlock()
	return slices.Clone(e.heard)
}

func (e *ear) count() int { return len(e.all()) }

// keys are those of all it heard.
func (e *ear) keys() []string { return keysOf(e.all()) }

// keysOf are the keys of messages, each once, sorted.
func keysOf(messages []*primitive.MessageExt) []string {
	keys := map[string]bool{}
	for _, message := range messages {
		keys[message.GetKeys()] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

// end shuts a consumer down when these offsets are committed, in sum of each topic's queues. The client
// commits by itself, every 5 s. At a shutdown it commits only what its listeners have returned by then.
func (l *lab) end(hears *ear, group string, offsets map[string]int64) {
	for topic, offset := range offsets {
		await(fmt.Sprint("commit of ", offset, " in ", topic), func() bool { return l.committedIn(group, topic) == offset })
	}
	must(hears.Shutdown())
}

func (l *lab) pullConsumer(group, topic string, selector consumer.MessageSelector, options ...consumer.Option) rocketmq.PullConsumer {
	made := need(rocketmq.NewPullConsumer(append([]consumer.Option{
		consumer.WithNameServer([]string{l.namesrv}),
		consumer.WithGroupName(l.group(group)),
		consumer.WithInstance("pull-" + group + l.suffix),
		consumer.WithPullBatchSize(32),
	}, options...)...))
	must(made.Subscribe(topic, selector))
	must(made.Start())
	return made
}

// everything is the subscription to all of a topic.
var everything = consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}

// -- what is stored ---------------------------------------------------------------------------

// stored reads everything in a topic, by queue and offset, once count messages can be read.
func (l *lab) stored(topic string, count int) []*primitive.MessageExt {
	if l.reader == nil {
		// Every broker has this topic, and nothing is in it.
		l.reader = l.pullConsumer("Reader", "SELF_TEST_TOPIC", everything)
	}
	var all []*primitive.MessageExt
	await(fmt.Sprintf("%d messages in %s", count, topic), func() bool {
		all = nil
		for _, queue := range l.queuesOf(topic) {
			all = append(all, l.readQueue(queue)...)
		}
		return len(all) >= count
	})
	return all
}

// readQueue pulls a queue from its beginning to its end; a pull beyond that would be held.
func (l *lab) readQueue(queue *primitive.MessageQueue) []*primitive.MessageExt {
	var all []*primitive.MessageExt
	for next, end := int64(0), l.maxOffset(queue); next < end; {
		got := need(l.reader.PullFrom(background, queue, next, 32))
		all = append(all, got.GetMessageExts()...)
		next = got.NextBeginOffset
	}
	return all
}

func (l *lab) maxOffset(queue *primitive.MessageQueue) int64 {
	return l.offsetOf(getMaxOffset, queue, nil)
}

// committed is a group's offset in a queue as the broker has it, -1 when it has none.
func (l *lab) committed(group string, queue *primitive.MessageQueue) int64 {
	return l.offsetOf(queryConsumerOffset, queue, map[string]string{"consumerGroup": l.group(group)})
}

// members counts those of a group at all brokers.
func (l *lab) members(group string) int {
	count := 0
	for _, addr := range l.brokers() {
		list := ask(addr, getConsumerListByGroup, map[string]string{"consumerGroup": l.group(group)}, nil)
		count += strings.Count(string(list.body), "@")
	}
	return count
}

func (l *lab) committedIn(group, topic string) int64 {
	sum := int64(0)
	for _, queue := range l.queuesOf(topic) {
		sum += l.committed(group, queue)
	}
	return sum
}

func (l *lab) offsetOf(code int, queue *primitive.MessageQueue, fields map[string]string) int64 {
	asked := map[string]string{"topic": queue.Topic, "queueId": fmt.Sprint(queue.QueueId)}
	maps.Copy(asked, fields)
	got := ask(l.brokers()[queue.BrokerName], code, asked, nil)
	if got.Code != 0 {
		return -1
	}
	return need(strconv.ParseInt(got.Fields["offset"], 10, 64))
}

// queuesOf are the queues of a topic that can be read, by broker and id.
func (l *lab) queuesOf(topic string) []*primitive.MessageQueue {
	var queues []*primitive.MessageQueue
	for _, at := range l.routeOf(topic) {
		for id := range at.read {
			queues = append(queues, &primitive.MessageQueue{Topic: topic, BrokerName: at.broker, QueueId: id})
		}
	}
	return queues
}

// -- how things are said ----------------------------------------------------------------------

func place(queue *primitive.MessageQueue) string {
	return fmt.Sprintf("%s:%d", queue.BrokerName, queue.QueueId)
}

func tally(things []string) string {
	counts := map[string]int{}
	for _, thing := range things {
		counts[thing]++
	}
	return fmt.Sprint(counts) // a map is printed in the order of its keys
}

// sent is a send's result, but for ids.
func sent(result *primitive.SendResult) string {
	return fmt.Sprintf("status=%d %s@%d", result.Status, place(result.MessageQueue), result.QueueOffset)
}

var offsetID = regexp.MustCompile("^[0-9A-F]{32}$")

// describe tells of a received message all but what differs from run to run; of that, whether it
// agrees with itself. Properties that are changing are only said to be there, and then no size.
func (l *lab) describe(message *primitive.MessageExt, changing ...string) string {
	properties := message.GetProperties()
	id := properties["UNIQ_KEY"]
	if id == "" {
		id = message.OffsetMsgId
	}
	_, isTransaction := properties["TRAN_MSG"]
	for _, key := range []string{"UNIQ_KEY", "MAX_OFFSET", "CONSUME_START_TIME"} {
		delete(properties, key)
	}
	for key, value := range properties {
		properties[key] = offsetID.ReplaceAllString(value, "<an id>")
		if slices.Contains(changing, key) {
			properties[key] = "<set>"
		}
	}
	body := string(message.Body)
	if len(body) > 40 {
		body = fmt.Sprint(len(body), " bytes")
	}
	stored := need(net.ResolveTCPAddr("tcp", message.StoreHost))
	born := need(net.ResolveTCPAddr("tcp", message.BornHost))
	size := int(message.StoreSize) - len(l.suffix)*strings.Count(fmt.Sprint(message.GetProperties()), l.suffix)
	text := fmt.Sprint("topic=", message.Topic, " body=", body,
		// The sum is the stored body's; large bodies are stored compressed.
		" crcRight=", message.SysFlag&1 == 1 || crc32.ChecksumIEEE(message.Body)&0x7FFFFFFF == uint32(message.BodyCRC),
		" flag=", message.Flag, " sysFlag=", message.SysFlag, " reconsumeTimes=", message.ReconsumeTimes,
		" bornHost=", born.IP, " storedAtMaster=", stored.String() == l.brokers()[message.Queue.BrokerName],
		" idRight=", id == message.MsgId, " timesRight=", message.BornTimestamp <= message.StoreTimestamp+1000)
	if isTransaction {
		text += fmt.Sprint(" prepared=", message.PreparedTransactionOffset > 0)
	} else {
		text += fmt.Sprint(" prepared=", message.PreparedTransactionOffset)
	}
	if len(changing) == 0 {
		text += fmt.Sprint(" size=", size)
	}
	return text + fmt.Sprint(" properties=", properties)
}

func byKey(messages []*primitive.MessageExt) []*primitive.MessageExt {
	sorted := slices.Clone(messages)
	slices.SortStableFunc(sorted, func(a, b *primitive.MessageExt) int {
		return strings.Compare(a.GetKeys(), b.GetKeys())
	})
	return sorted
}

func message(topic, tag, key string) *primitive.Message {
	made := primitive.NewMessage(topic, []byte("body of "+key))
	if tag != "" {
		made.WithTag(tag)
	}
	return made.WithKeys([]string{key})
}

func at(message *primitive.Message, broker string, queue int) *primitive.Message {
	message.Queue = &primitive.MessageQueue{Topic: message.Topic, BrokerName: broker, QueueId: queue}
	return message
}
