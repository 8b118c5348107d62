"""Records transactions of a real 4.9.7 broker: ``python -m conformance.capture_transactions FILE``.

What was sent and what came, frame by frame, and the whole commit log afterwards, as gzipped text. A
test plays the same requests to fakemq and compares every byte. Takes a minute and a half; with
``--defaults``, at the checks' real pace, four minutes.
"""

from __future__ import annotations

import gzip
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from conformance.java_cluster import JavaBroker, JavaCluster, wait_until
from conformance.raw import RawConnection, frame, json_header
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import decode_record
from fakemq.protocol.topics import (
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)

README = """\
Transactions of a real 4.9.7 broker, written by `python -m conformance.capture_transactions`; do not
edit. Lines: `config KEY=VALUE`, `port N`, `# case`, `> CLIENT AT_MS HEX` a request, `< CLIENT HEX`
what came, `check` a look at the half messages that nobody was asked in, `wait MS`, `x CLIENT` a
client hangs up, `log HEX` the commit log.

"""
QUICK = {
    "transactionCheckInterval": "2000",
    "transactionTimeOut": "1000",
    "transactionCheckMax": "3",
}
GROUP = "GTransactions"
TOPIC = "Transactions"
SETTLE_S = 0.15
COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
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
        self._broker = broker
        self._clients: dict[str, RawConnection] = {}
        self._opaque = 0
        self._count = 0
        self._discarded = 0

    # -- frames -------------------------------------------------------------------------------

    def ask(
        self, code: int, fields: Fields | None = None, body: bytes = b"", *, client: str = "a"
    ) -> dict[str, str]:
        """Send a request and wait for its answer; gives the answer's ext fields."""
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
            self._clients[client] = RawConnection(self._broker.addr, timeout=70.0)
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
        with RawConnection(self._broker.addr) as aside:
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
        """The records in the broker's commit log."""
        data = (self._broker.store / "commitlog" / f"{0:020}").read_bytes()
        end = 0
        while size := int.from_bytes(data[end : end + 4]):
            decode_record(data, end)
            end += size
        return data[:end]

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


# -- cases ----------------------------------------------------------------------------------------


def endings(rec: Recorder) -> None:
    rec.case("commit, twice: there is no check of it")
    half = rec.send(
        b"committed",
        more={"TAGS": "t", "KEYS": "k1 k2", "a": "1", "b": "2", "c": "3"},
        flag=7,
        reconsumeTimes=2,
        queueId=2,
    )
    rec.end(half, COMMIT)
    rec.end(half, COMMIT, fromTransactionCheck="true")
    rec.case("rollback, and commit after it")
    half = rec.send(b"rolled back", more={"WAIT": "false"})
    rec.end(half, ROLLBACK)
    rec.end(half, COMMIT, oneway=True)
    rec.case("a committed message committed: it has all that a half one has")
    found = [decode_record(rec.log()[at:]) for at in offsets(rec.log())]
    again = next(one for one in found if one.topic == TOPIC)
    rec.end(Half(again.queue_offset, again.physical_offset), COMMIT)
    rec.case("refusals; that it is through already is none")
    half = rec.send(b"refused")
    rec.end(half, ROLLBACK, oneway=True)
    rec.end(half, COMMIT, producerGroup="another")
    rec.end(half, COMMIT, producerGroup=None)
    rec.end(half, ROLLBACK, tranStateTableOffset=half.offset + 1)
    rec.end(half, ROLLBACK, tranStateTableOffset=None)
    rec.end(half, COMMIT, commitLogOffset=1 << 40)
    rec.end(half, COMMIT, commitLogOffset=None)
    rec.end(half, COMMIT, commitLogOffset=-1)
    rec.end(half, 5)
    rec.end(half, COMMIT, commitOrRollback=None)
    rec.ask(RequestCode.END_TRANSACTION)
    rec.case("an ordinary message has no group")
    rec.end(rec.send(b"ordinary", prepared=False), COMMIT)
    rec.case("an ordinary message that says it has one does not know its topic and queue")
    ordinary = rec.send(b"ordinary", prepared=False, more={"PGROUP": GROUP})
    rec.end(ordinary, COMMIT)
    rec.end(ordinary, ROLLBACK)
    rec.case("a property that says it is no transaction")
    rec.send(b"ordinary", prepared=False, more={"TRAN_MSG": "false"})
    rec.case("prepared by sysFlag alone, and rolled back by it: in the log and in no queue")
    rec.send(b"prepared", prepared=False, sysFlag=4)
    rec.send(b"rolled back", prepared=False, sysFlag=12)


def checks(rec: Recorder) -> None:
    rec.case("asked until it is discarded; flag and reconsume times are lost at the first")
    rec.align()
    rec.send(b"undecided", more={"TAGS": "t"}, flag=7, reconsumeTimes=2, queueId=3)
    rec.end(rec.asked(), UNKNOWN, oneway=True, fromTransactionCheck="true")
    rec.asked()
    rec.asked()
    rec.discarded()
    rec.progress()
    rec.case("asked, and committed at its new place, and at its old one")
    old = rec.send(b"asked", flag=7)
    half = rec.asked()
    rec.end(half, COMMIT, fromTransactionCheck="true")
    rec.end(old, COMMIT)
    rec.progress()
    rec.case("immune for 3 s: put back once, which counts, then asked")
    rec.send(b"immune", more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "3"}, flag=7)
    rec.checked()
    rec.end(rec.asked(), ROLLBACK)
    rec.case("immune for too long: discarded, and nobody was asked")
    rec.send(b"immune", more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "60"})
    for _ in range(3):
        rec.checked()
    rec.discarded()
    rec.case("immune, put back, and committed at its first place: asked all the same")
    half = rec.send(b"immune", more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "3"})
    rec.checked()
    rec.end(half, COMMIT)
    rec.end(rec.asked(), ROLLBACK)
    rec.case("two and one between that is through")
    rec.send(b"one")
    through = rec.send(b"two")
    rec.send(b"three", more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "-1"})
    rec.end(through, COMMIT, oneway=True)
    for half in (rec.asked(), rec.asked()):
        rec.end(half, ROLLBACK, oneway=True)
    rec.progress()


def oddities(rec: Recorder) -> None:
    rec.case("born in the future, and immediately asked")
    rec.align()
    rec.send(b"future", age_ms=-60_000)
    rec.end(rec.asked(), ROLLBACK)
    rec.case("born before the files' time: discarded")
    rec.send(b"ancient", age_ms=73 * 3_600_000)
    rec.discarded()
    rec.case("a compressed body stays compressed; the admin's look unpacks it")
    rec.send(zlib.compress(b"compressed " * 9), sysFlag=5)
    half = rec.asked()
    rec.case("checked from the beginning, for the admin")
    msg_id = f"7F000001{rec._broker.port:08X}{half.commit_log_offset:016X}"
    for text in (msg_id, msg_id[:-1], f"{msg_id[:-1]}F", f"{msg_id[:16]}{1 << 40:016X}"):
        rec.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": text})
    rec.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, {})
    rec.end(half, ROLLBACK)
    rec.end(rec.asked(), ROLLBACK)
    rec.case("no body: put back, and nobody is asked")
    rec.send(b"")
    for _ in range(3):
        rec.checked()
    rec.discarded()
    rec.case("bad numbers in properties")
    rec.send(b"times", more={"TRANSACTION_CHECK_TIMES": "many"})
    rec.end(rec.asked(), ROLLBACK)
    rec.send(b"immunity", more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "long"})
    rec.end(rec.asked(), ROLLBACK)
    rec.case("checked often enough before it came")
    rec.send(b"worn", more={"TRANSACTION_CHECK_TIMES": "3"})
    rec.discarded()
    rec.case("sent by a producer that leaves: nobody is asked, then another")
    rec.beat("b")
    rec.hang_up("a")
    rec.beat("a")
    rec.hang_up("b")
    half = rec.send(b"left")
    rec.hang_up("a")
    rec.checked()
    rec.beat("b")
    rec.asked("b")
    rec.hang_up("b")
    rec.checked()
    rec.discarded()


def delays(rec: Recorder) -> None:
    rec.beat()
    rec.align()
    rec.case("with a delay level it waits in the schedule topic, and is lost there")
    half = rec.send(b"later", more={"DELAY": "1", "TAGS": "t"})
    rec.end(half, COMMIT)
    rec.wait(3)
    rec.align()


def offsets(log: bytes) -> list[int]:
    """Where records begin."""
    found, at = [], 0
    while at < len(log):
        found.append(at)
        at += int.from_bytes(log[at : at + 4])
    return found


def quick(rec: Recorder) -> None:
    for cases in (endings, checks, oddities, delays):
        cases(rec)


def at_their_pace(rec: Recorder) -> None:
    rec.case("the defaults: 6 s of immunity, a look every 60 s")
    rec.align()
    rec.send(b"undecided")
    rec.send(b"immune", more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "90"})
    rec.asked()
    rec.beat()
    rec.wait(55)
    rec.send(b"too young at the next look")
    rec.end(rec.asked(), ROLLBACK)
    rec.beat()
    rec.end(rec.asked(), COMMIT)
    rec.end(rec.asked(), ROLLBACK)
    rec.progress()


def record(config: Mapping[str, str], cases: Callable[[Recorder], None]) -> str:
    """Run cases on a broker of that config; gives the lines."""
    with JavaCluster(topics={TOPIC: 4}, config=config) as cluster:
        (broker,) = cluster.brokers
        rec = Recorder(broker)
        try:
            rec.beat()
            cases(rec)
            rec.lines.append(f"log {rec.log().hex()}")
        except TimeoutError:
            print(*rec.lines, *broker.home.glob("*"), sep="\n")
            raise
        finally:
            rec.close()
    head = [f"config {key}={value}" for key, value in config.items()]
    return README + "\n".join([*head, *rec.lines]) + "\n"


if __name__ == "__main__":
    arguments = sys.argv[1:]
    text = record({}, at_their_pace) if "--defaults" in arguments else record(QUICK, quick)
    Path(arguments[0]).write_bytes(gzip.compress(text.encode(), mtime=0))
