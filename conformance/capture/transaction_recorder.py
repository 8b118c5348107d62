"""A broker's clients in transactions, and all that they send and see, as lines."""

from __future__ import annotations

import time
from collections.abc import Mapping

from conformance.targets.java_cluster import JavaBroker, wait_until
from conformance.wire.raw import RawConnection, frame, json_header
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import MessageExt, decode_records
from fakemq.protocol.topics import (
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)

GROUP = "GTransactions"
TOPIC = "Transactions"
COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
SETTLE_S = 0.15
Fields = Mapping[str, object]


class Half:
    """A half message, where it is now."""

    def __init__(self, offset: int, commit_log_offset: int) -> None:
        self.offset = offset
        self.commit_log_offset = commit_log_offset


class Recorder:
    """The clients of one broker, and what they see, as lines."""

    def __init__(self, broker: JavaBroker) -> None:
        self.lines = [f"port {broker.port}"]
        self.broker = broker
        self._clients: dict[str, RawConnection] = {}
        self._opaque = 0
        self._count = 0
        self._discarded = 0

    # -- frames -------------------------------------------------------------------------------

    def ask(
        self, code: int, fields: Fields | None = None, body: bytes = b"", *, client: str = "a"
    ) -> dict[str, str]:
        """Send a request and wait for its answer; return its ext fields."""
        opaque = self._send(client, code, fields, body, 0)
        while True:
            header = self._receive(client)
            if header["opaque"] == opaque and int(str(header["flag"])) & 1:
                time.sleep(SETTLE_S)  # until it is in its queue
                found = header.get("extFields") or {}
                assert isinstance(found, dict)
                return found

    def tell(self, code: int, fields: Fields, *, client: str = "a") -> None:
        """Send a request that is not answered."""
        self._send(client, code, fields, b"", 2)
        time.sleep(SETTLE_S)

    def _send(self, client: str, code: int, fields: Fields | None, body: bytes, flag: int) -> int:
        self._opaque += 1
        texts = None if fields is None else {key: str(value) for key, value in fields.items()}
        whole = frame(code, texts, body, opaque=self._opaque, flag=flag)
        self._connection(client).send(whole)
        self.lines.append(f"> {client} {_now_ms()} {whole.hex()}")
        return self._opaque

    def _receive(self, client: str) -> dict[str, object]:
        whole = self._connection(client).receive()
        self.lines.append(f"< {client} {whole.hex()}")
        return json_header(whole)

    def _connection(self, client: str) -> RawConnection:
        if client not in self._clients:
            self._clients[client] = RawConnection(self.broker.addr, timeout=70.0)
        return self._clients[client]

    def hang_up(self, client: str) -> None:
        self._clients.pop(client).close()
        self.lines.append(f"x {client}")
        time.sleep(SETTLE_S)

    def wait(self, seconds: int) -> None:
        """Let time pass on purpose; all other waiting is for something."""
        time.sleep(seconds)
        self.lines.append(f"wait {seconds * 1000}")

    # -- what clients do ----------------------------------------------------------------------

    def case(self, text: str) -> None:
        self.lines.append(f"# {text}")

    def beat(self, client: str = "a") -> None:
        body = (
            f'{{"clientID":"{client}","consumerDataSet":[],'
            f'"producerDataSet":[{{"groupName":"{GROUP}"}}]}}'
        )
        self.ask(RequestCode.HEART_BEAT, {}, body.encode(), client=client)

    def send(
        self,
        body: bytes = b"body",
        *,
        more: Mapping[str, str] | None = None,
        prepared: bool = True,
        age_ms: int = 0,
        **fields: object,
    ) -> Half:
        """Send a message, mostly as a half one; ``age_ms`` is how long ago it says it was born."""
        self._count += 1
        properties = {"UNIQ_KEY": f"7F000001000018B4AAC27E5E1C2C{self._count:04X}", "WAIT": "true"}
        if prepared:
            properties |= {"TRAN_MSG": "true", "PGROUP": GROUP}
        text = "\x02".join(
            f"{key}\x01{value}" for key, value in (properties | dict(more or {})).items()
        )
        header: dict[str, object] = {
            "producerGroup": GROUP,
            "topic": TOPIC,
            "defaultTopic": "TBW102",
            "defaultTopicQueueNums": 4,
            "queueId": 0,
            "sysFlag": 4 if prepared else 0,
            "bornTimestamp": _now_ms() - age_ms,
            "flag": 0,
            "properties": text,
            "reconsumeTimes": 0,
            "unitMode": "false",
            "batch": "false",
        }
        answer = self.ask(RequestCode.SEND_MESSAGE, header | fields, body)
        return Half(int(answer["queueOffset"]), int(answer["msgId"][-16:], 16))

    def asked_two(self) -> list[Half]:
        """Wait for two questions of one look, which Java sends in any order: here by offset."""
        start = len(self.lines)
        first, second = self.asked(), self.asked()
        if first.offset > second.offset:
            self.lines[start:] = reversed(self.lines[start:])
            first, second = second, first
        return [first, second]

    def asked(self, client: str = "a") -> Half:
        """Wait until the broker asks about a half message; where it is now."""
        while True:
            header = self._receive(client)
            if header["code"] == RequestCode.CHECK_TRANSACTION_STATE:
                fields = header["extFields"]
                assert isinstance(fields, dict)
                return Half(int(fields["tranStateTableOffset"]), int(fields["commitLogOffset"]))

    def checked(self) -> None:
        """Wait for a look at the half messages that shows only in that one was put back."""
        before = self._max_offset(TRANS_HALF_TOPIC)
        wait_until(lambda: self._max_offset(TRANS_HALF_TOPIC) > before, 20)
        self.lines.append("check")

    def discarded(self) -> None:
        """Wait until one more is discarded: at the next look, or just now at the same as before."""
        self._discarded += 1
        wait_until(lambda: self._max_offset(TRANS_CHECK_MAX_TIME_TOPIC) >= self._discarded, 20)
        self.lines.append("check")

    def _max_offset(self, topic: str) -> int:
        with RawConnection(self.broker.addr) as aside:
            fields = {"topic": topic, "queueId": "0"}
            answer = json_header(aside.call(frame(RequestCode.GET_MAX_OFFSET, fields)))
            found = answer["extFields"]
            assert isinstance(found, dict)
            time.sleep(0.05)
            return int(found["offset"])

    def end(self, half: Half, how: int, *, oneway: bool = False, **fields: object) -> None:
        header: dict[str, object] = {
            "producerGroup": GROUP,
            "tranStateTableOffset": half.offset,
            "commitLogOffset": half.commit_log_offset,
            "commitOrRollback": how,
            "fromTransactionCheck": "false",
            "msgId": "7F000001000018B4AAC27E5E1C2C0000",
        } | fields
        header = {key: value for key, value in header.items() if value is not None}
        if oneway:
            self.tell(RequestCode.END_TRANSACTION, header)
        else:
            self.ask(RequestCode.END_TRANSACTION, header)

    def align(self) -> None:
        """Be right behind a look at the half messages."""
        self.send(b"align")
        self.end(self.asked(), ROLLBACK, oneway=True, fromTransactionCheck="true")

    def progress(self) -> None:
        """Ask how far the broker has come with half messages and ops."""
        for topic in (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC):
            fields = {"consumerGroup": "CID_RMQ_SYS_TRANS", "topic": topic, "queueId": 0}
            self.ask(RequestCode.QUERY_CONSUMER_OFFSET, fields)

    # -- afterwards ---------------------------------------------------------------------------

    def log(self) -> bytes:
        """Return the records in the broker's commit log."""
        data = (self.broker.store / "commitlog" / f"{0:020}").read_bytes()
        end = 0
        while size := int.from_bytes(data[end : end + 4]):
            end += size
        return data[:end]

    def messages(self) -> list[MessageExt]:
        """Return what is in the log, in its order."""
        return decode_records(self.log())

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
