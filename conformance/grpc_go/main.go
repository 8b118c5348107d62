// The Go client of RocketMQ 5 at work: `program ADDRESS SUFFIX SCENARIO...` runs scenarios side by side and
// prints what the client observes, one line "SCENARIO<tab>OBSERVATION" each, and "SCENARIO<tab>!end" or "!failed" last.
// Topics and groups of these names are there already.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
)

var scenarios = map[string]func(*lab) error{
	"plain":       plain,
	"tls":         plain,
	"fifo":        fifo,
	"fifopush":    fifoPush,
	"delay":       delay,
	"transaction": transaction,
	"retry":       retry,
	"change":      change,
	"filters":     filters,
	"refused":     refused,
	"failover":    failOver,
	"lite":        lite,
}

func main() {
	os.Setenv("rocketmq.client.logRoot", filepath.Join(os.Getenv("HOME"), "logs"))
	os.Setenv("rocketmq.client.logLevel", "warn")
	rmq.ResetLogger()
	address, suffix := os.Args[1], os.Args[2]
	rmq.EnableSsl = os.Getenv("CONFORMANCE_TLS") != ""
	var running sync.WaitGroup
	for _, name := range os.Args[3:] {
		running.Add(1)
		go func() {
			defer running.Done()
			run(&lab{address: address, scenario: name, suffix: suffix})
		}()
	}
	running.Wait()
}

func run(lab *lab) {
	err := scenarios[lab.scenario](lab)
	if err != nil {
		fmt.Printf("%s\t!failed %v\n", lab.scenario, err)
	} else {
		fmt.Printf("%s\t!end\n", lab.scenario)
	}
	for _, stop := range lab.atEnd {
		stop()
	}
}
