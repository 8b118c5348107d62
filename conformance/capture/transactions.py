"""Records transactions of a real 4.9.7 broker: ``python -m conformance.capture.transactions FILE``.

What was sent and what came, frame by frame, and the whole commit log afterwards, as gzipped text. A
test plays the same requests to fakemq and compares every byte. Takes a minute and a half; with
``--defaults``, at the checks' real pace, four minutes.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from conformance.capture.transaction_recorder import (
    COMMIT,
    GROUP,
    ROLLBACK,
    TOPIC,
    UNKNOWN,
    Half,
    Recorder,
)
from conformance.targets.java_cluster import JavaCluster
from fakemq.protocol.codes import RequestCode

README = """\
Transactions of a real 4.9.7 broker, written by `python -m conformance.capture.transactions`; do not
edit. Lines: `config KEY=VALUE`, `port N`, `# case`, `> CLIENT AT_MS HEX` a request, `< CLIENT HEX`
what came, `check` a look at half messages that asked no producer, `wait MS`, `x CLIENT` a client
hangs up, `log HEX` the commit log.

"""
QUICK = {
    "transactionCheckInterval": "2000",
    "transactionTimeOut": "1000",
    "transactionCheckMax": "3",
}


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
    again = next(one for one in rec.messages() if one.topic == TOPIC)
    rec.end(Half(again.queue_offset, again.commit_log_offset), COMMIT)
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
    rec.case("immune for too long: discarded, and no producer was asked")
    rec.send(b"immune", more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "60"})
    for _ in range(3):
        rec.checked()
    rec.discarded()
    rec.case("immune, put back, and committed at its first place: asked nevertheless")
    half = rec.send(b"immune", more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "3"})
    rec.checked()
    rec.end(half, COMMIT)
    rec.end(rec.asked(), ROLLBACK)
    rec.case("two and one between that is through")
    rec.send(b"one")
    through = rec.send(b"two")
    rec.send(b"three", more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "-1"})
    rec.end(through, COMMIT, oneway=True)
    for half in rec.asked_two():
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
    msg_id = f"7F000001{rec.broker.port:08X}{half.commit_log_offset:016X}"
    for text in (msg_id, msg_id[:-1], f"{msg_id[:-1]}F", f"{msg_id[:16]}{1 << 40:016X}"):
        rec.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": text})
    rec.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, {})
    rec.end(half, ROLLBACK)
    rec.end(rec.asked(), ROLLBACK)
    rec.case("no body: put back, and no producer is asked")
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
    rec.case("sent by a producer that leaves: no producer is asked, then another")
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
    undecided, immune = rec.asked_two()
    rec.end(undecided, ROLLBACK)
    rec.end(immune, COMMIT)
    rec.beat()
    rec.end(rec.asked(), ROLLBACK)
    rec.progress()


def record(config: Mapping[str, str], cases: Callable[[Recorder], None]) -> str:
    """Run cases on a broker of that config; return the lines."""
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
