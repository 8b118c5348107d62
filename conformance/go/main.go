// An ordinary RocketMQ client program, in Go, that says what it saw.
//
// "conformance NAMESRV SCENARIO" prints observations, one "= ..." line each, the same on every
// correct cluster; "conformance NAMESRV produce|consume ..." is a driver steered over stdin (see
// drivers.go). The variable CONFORMANCE_SUFFIX keeps topics and groups of runs apart. Whoever
// starts it keeps its stdin open: when that ends, the program does.
//
// The client library allows one send 3 seconds and beats every 30, rebalances every 20: nothing
// here can change that. Scenarios that wait for such a timer say so.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

var scenarios = map[string]func(*lab){
	"sync":         syncSends,
	"async":        asyncSends,
	"oneway":       oneway,
	"batch":        batch,
	"errors":       sendErrors,
	"autotopic":    autoTopic,
	"properties":   properties,
	"hashed":       hashed,
	"delay":        delay,
	"interceptors": interceptors,
	"trace":        trace,
	"credentials":  credentials,
	"namespace":    namespace,
	"transactions": transactions,
	"checked":      checked,
	"inherited":    inherited,
	"request":      request,
	"push":         push,
	"sql":          sql,
	"sqlerrors":    sqlErrors,
	"batches":      batches,
	"rebalance":    rebalance,
	"dying":        dying,
	"broadcast":    broadcast,
	"where":        where,
	"retry":        retry,
	"levels":       levels,
	"expired":      expired,
	"orderly":      orderly,
	"suspend":      suspend,
	"orderlydlq":   orderlyDLQ,
	"heir":         heir,
	"pull":         pull,
	"pullerrors":   pullErrors,
	"poll":         poll,
	"offsets":      offsets,
	"reset":        reset,
	"admin":        adminCalls,
	"grow":         grow,
	"steered":      steered,
	"access":       access,
}

func main() {
	if len(os.Args) > 2 && os.Args[2] == "produce" {
		produce(os.Args[1], os.Args[3:])
		return
	}
	if len(os.Args) > 2 && os.Args[2] == "consume" {
		consume(os.Args[1], os.Args[3:])
		return
	}
	if len(os.Args) != 3 || scenarios[os.Args[2]] == nil {
		fmt.Fprintln(os.Stderr, "usage: conformance NAMESRV SCENARIO|produce|consume ...")
		os.Exit(2)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	defer func() {
		if failure := recover(); failure != nil {
			fmt.Printf("%v\n%s", failure, debug.Stack())
			os.Exit(1)
		}
	}()
	scenarios[os.Args[2]](newLab(os.Args[1], os.Getenv("CONFORMANCE_SUFFIX")))
	// Clients may still run; none of the observations' business.
	os.Exit(0)
}
