package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"
)

// Codes of requests that scenarios send by hand: to look at a broker without being a client of it,
// and for what only RocketMQ's tools ask.
const (
	queryConsumerOffset       = 14
	getMaxOffset              = 30
	getConsumerListByGroup    = 38
	getRouteInfoByTopic       = 105
	getBrokerClusterInfo      = 106
	updateSubscriptionGroup   = 200
	getProducerConnectionList = 204
	invokeBrokerToResetOffset = 222
)

type answer struct {
	Code   int               `json:"code"`
	Remark string            `json:"remark"`
	Fields map[string]string `json:"extFields"`
	body   []byte
}

// ask sends one request on a connection of its own and waits for the answer.
func ask(addr string, code int, fields map[string]string, body []byte) answer {
	header := need(json.Marshal(map[string]any{
		"code": code, "extFields": fields, "flag": 0, "language": "JAVA", "opaque": 1,
		"serializeTypeCurrentRPC": "JSON", "version": 407,
	}))
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)+len(body)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(header)))
	frame = append(append(frame, header...), body...)
	connection := need(net.DialTimeout("tcp", addr, 10*time.Second))
	defer connection.Close()
	must(connection.SetDeadline(time.Now().Add(20 * time.Second)))
	need(connection.Write(frame))
	var sizes [8]byte
	need(io.ReadFull(connection, sizes[:]))
	whole, head := binary.BigEndian.Uint32(sizes[:4]), binary.BigEndian.Uint32(sizes[4:])
	if head>>24 != 0 {
		panic(fmt.Sprintf("header serialisation %d in the answer to %d", head>>24, code))
	}
	rest := make([]byte, whole-4)
	need(io.ReadFull(connection, rest))
	var got answer
	must(json.Unmarshal(rest[:head], &got))
	got.body = rest[head:]
	return got
}
