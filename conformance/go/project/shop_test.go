package project

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// startFakemq starts a cluster for one test; it returns the address of its name server, and its control port.
func startFakemq(t *testing.T, options ...string) (namesrv, control string) {
	ready := filepath.Join(t.TempDir(), "ready.json")
	cluster := exec.Command("python3", append([]string{"-m", "fakemq", "--quiet", "--namesrv-port", "0",
		"--broker-port", "0", "--control-port", "0", "--ready-file", ready}, options...)...)
	check(t, cluster.Start())
	t.Cleanup(func() {
		cluster.Process.Signal(syscall.SIGTERM)
		cluster.Wait()
	})
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile(ready); err == nil { // it is written when all ports listen
			var found struct{ Namesrv, Control string }
			check(t, json.Unmarshal(text, &found))
			return found.Namesrv, found.Control
		}
	}
	t.Fatal("fakemq is not ready after 30 s")
	return
}

func post(t *testing.T, url, body string) {
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	check(t, err)
	defer answer.Body.Close()
	if answer.StatusCode >= 400 {
		t.Fatal(url, answer.Status)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOrderForLaterIsReceivedAfterTwoHours(t *testing.T) {
	namesrv, control := startFakemq(t, "--topic", "orders:4")
	post(t, control+"/v1/clock/freeze", "{}")
	servers := primitive.NewPassthroughResolver([]string{namesrv})

	shop, err := rocketmq.NewProducer(producer.WithNsResolver(servers), producer.WithGroupName("shop"))
	check(t, err)
	check(t, shop.Start())
	defer shop.Shutdown()
	message := primitive.NewMessage("orders", []byte("tea")).WithDelayTimeLevel(18)
	_, err = shop.SendSync(context.Background(), message)
	check(t, err)

	received := make(chan string, 1)
	billing, err := rocketmq.NewPushConsumer(consumer.WithNsResolver(servers), consumer.WithGroupName("billing"),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	check(t, err)
	check(t, billing.Subscribe("orders", consumer.MessageSelector{},
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			received <- string(messages[0].Body)
			return consumer.ConsumeSuccess, nil
		}))
	check(t, billing.Start())
	defer billing.Shutdown()

	post(t, control+"/v1/clock/advance", `{"duration": "2h"}`)
	select {
	case order := <-received:
		if order != "tea" {
			t.Fatal("received", order)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("nothing was received")
	}
}
