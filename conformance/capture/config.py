"""Records a broker's config files: ``python -m conformance.capture.config FILE``.

A few topics, groups, offsets, filters and a delayed message; kept are the files of ``config/`` once
their grid has passed twice, after a clean stop, and after another start and stop, when the maps
that were read are of other sizes. Then what a broker does on damaged files.

Lines are ``file LABEL NAME JSON`` with the text as a JSON string, and ``damage LABEL JSON``:
whether the broker starts on it, and which of the topics it has.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from conformance.capture.requests import properties, send_fields
from conformance.targets.java_cluster import JavaBroker, JavaCluster, JavaClusterError
from conformance.wire.raw import RawConnection, create_topic, frame, json_header

TOPICS = ("orders", "billing", "u-like", "Aa", "BB", "zz%x")
GONE = "gone"
GROUPS = ("g1", "shipping", "Aa", "BB", "ü")
FILTERS = (("shipping", "orders", "a > 5"), ("g1", "orders", "b = 'x\"y'"), ("g1", "Aa", "a < 1"))
GRID_S = 21.5
"""Filters and delays are written after 10 and 20 s."""


class Recording:
    """The lines, and the broker that they are of."""

    def __init__(self, broker: JavaBroker) -> None:
        self.broker = broker
        self.lines: list[str] = []

    def ask(self, code: int, fields: dict[str, str], body: bytes = b"") -> None:
        with RawConnection(self.broker.addr) as connection:
            answer = json_header(connection.call(frame(code, fields, body)))
        if answer["code"] != 0:
            raise ValueError(f"the broker refuses {code}: {answer}")

    def keep(self, label: str) -> None:
        for path in sorted((self.broker.store / "config").iterdir()):
            text = path.read_text(encoding="utf-8")
            self.lines.append(f"file {label} {path.name} {json.dumps(text)}")


def script(run: Recording, connection: RawConnection) -> None:
    """What `tests/broker/test_java_config.py` does again."""
    for topic in (*TOPICS, GONE):
        create_topic(run.broker.addr, topic, 4)
    run.ask(215, {"topic": GONE})
    for group in GROUPS:
        body = {"groupName": group, "retryMaxTimes": 3, "consumeEnable": group != "Aa"}
        run.ask(200, {}, json.dumps(body).encode())
    run.ask(207, {"groupName": "BB", "cleanOffset": "false"})
    for group in GROUPS:
        for topic in TOPICS:
            for queue_id in (3, 0, 2):
                fields = {"consumerGroup": group, "topic": topic, "queueId": str(queue_id)}
                run.ask(15, {**fields, "commitOffset": str(1 << 10 * queue_id)})
    for group, topic, expression in FILTERS:
        others = [(name, text) for one, name, text in FILTERS if one == group and name != topic]
        connection.send(frame(34, {}, heartbeat(group, [(topic, expression), *others])))
        while not answered(connection):
            continue
    for level in ("1", "2"):
        run.ask(
            10, send_fields(properties(DELAY=level, UNIQ_KEY=f"U{level}"), topic="orders"), b"x"
        )


def answered(connection: RawConnection) -> bool:
    """Whether the next frame is an answer: the broker has things to say to a consumer, too."""
    return json_header(connection.receive())["flag"] == 1


def damage(run: Recording, label: str, topics: str | None, backup: str | None) -> None:
    """Start on a topics.json and its .bak of these texts; None for no such file."""
    folder = run.broker.store / "config"
    for name, text in (("topics.json", topics), ("topics.json.bak", backup)):
        (folder / name).unlink(missing_ok=True)
        if text is not None:
            (folder / name).write_text(text)
    starts: bool | str = True
    try:
        run.broker.start()
    except JavaClusterError:
        starts = False
    found = []
    if starts:
        with RawConnection(run.broker.addr) as connection:
            answer = connection.call(frame(21, {}))
        found = [topic for topic in TOPICS if f'"{topic}"'.encode() in answer]
        run.broker.stop()
    run.lines.append(f"damage {label} {json.dumps([starts, found])}")


def main() -> None:
    with JavaCluster(config={"enablePropertyFilter": "true"}) as cluster:
        run = Recording(cluster.broker("broker-a"))
        started = time.monotonic()
        with RawConnection(run.broker.addr) as connection:
            script(run, connection)
            run.keep("at_once")
            time.sleep(max(0.0, GRID_S - (time.monotonic() - started)))
            run.keep("grid")
            run.broker.stop()
        run.keep("stopped")
        run.broker.start()
        run.ask(17, {**_topic("later")})
        run.ask(200, {}, json.dumps({"groupName": "later"}).encode())
        run.broker.stop()
        run.keep("again")
        whole = (run.broker.store / "config" / "topics.json").read_text()
        damage(run, "whole", whole, None)
        damage(run, "empty", "", whole)
        damage(run, "missing", None, whole)
        damage(run, "cut", whole[: len(whole) // 2], whole)
        damage(run, "cut_alone", whole[: len(whole) // 2], None)
        damage(run, "cut_empty", whole[: len(whole) // 2], "")
        damage(run, "both_cut", whole[: len(whole) // 2], whole[:100])
        damage(run, "null", "null", whole)
        damage(run, "blank", " \n", whole)
        damage(run, "no_table", "{}", whole)
        damage(run, "null_table", '{"topicConfigTable":null}', whole)
        damage(run, "list", "[]", whole)
        damage(run, "number", "5", whole)
        damage(run, "behind", whole + "}", whole)
    Path(sys.argv[1]).write_text("\n".join(run.lines) + "\n", encoding="utf-8")


def heartbeat(group: str, filters: Iterable[tuple[str, str]]) -> bytes:
    """The body of a heartbeat of one consumer, with topics and the SQL92 it takes of each."""
    consumer = {
        "groupName": group,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
        "subscriptionDataSet": [
            {
                "topic": topic,
                "subString": expression,
                "expressionType": "SQL92",
                "subVersion": 7,
                "tagsSet": [],
                "codeSet": [],
            }
            for topic, expression in filters
        ],
    }
    beat = {"clientID": "c@1", "consumerDataSet": [consumer], "producerDataSet": []}
    return json.dumps(beat).encode()


def _topic(name: str) -> dict[str, str]:
    return {
        "topic": name,
        "defaultTopic": "TBW102",
        "readQueueNums": "4",
        "writeQueueNums": "4",
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }


if __name__ == "__main__":
    main()
