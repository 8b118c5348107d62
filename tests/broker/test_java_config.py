"""The config files byte by byte as a real broker wrote them, but for its times.

See ``conformance/capture/config.py``, whose script is done again here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.capture.config import FILTERS, GONE, GROUPS, TOPICS, heartbeat
from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.errors import StoreError
from fakemq.events import Warned
from fakemq.files.texts import DiskTextFile
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.peer import Peer

RECORDED = Path(__file__).with_name("data") / "java_config.txt"
_TIMES = re.compile(r'("(?:timestamp|bornTime|deadTime)"):[1-9]\d*')


def lines(kind: str) -> Iterator[list[str]]:
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        words = line.split(" ", 3 if kind == "file" else 2)
        if words[0] == kind:
            yield words[1:]


def recorded(label: str) -> dict[str, str]:
    return {name: masked(json.loads(text)) for one, name, text in lines("file") if one == label}


def masked(text: str) -> str:
    return _TIMES.sub(r"\1:T", text)


def kept(folder: Path) -> dict[str, str]:
    return {
        path.name: masked(path.read_text(encoding="utf-8")) for path in sorted(folder.iterdir())
    }


class Kept:
    """A broker with config files."""

    def __init__(self, lab: BrokerLab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder
        self.broker: Broker = lab.broker(
            BrokerConfig(enable_property_filter=True), config_folder=folder
        )

    def script(self, peer: Peer) -> None:
        broker = self.broker
        for topic in (*TOPICS, GONE):
            broker.create_topic(topic, 4)
        broker.topics.delete(GONE)
        for group in GROUPS:
            broker.groups.update(
                SubscriptionGroupConfig(
                    group_name=group, retry_max_times=3, consume_enable=group != "Aa"
                )
            )
        broker.groups.delete("BB")
        for group in GROUPS:
            for topic in TOPICS:
                for queue_id in (3, 0, 2):
                    broker.offsets.commit(group, topic, queue_id, 1 << 10 * queue_id)
        for one, _, _ in FILTERS:
            of_one = [(topic, expression) for group, topic, expression in FILTERS if group == one]
            peer.ask(RequestCode.HEART_BEAT, None, heartbeat(one, of_one))
        for level in ("1", "2"):
            self.send(peer, f"DELAY\x01{level}\x02UNIQ_KEY\x01U{level}\x02")

    def send(self, peer: Peer, properties: str) -> None:
        answer = peer.ask(
            RequestCode.SEND_MESSAGE_V2, send_header("orders", properties=properties), b"x"
        )
        assert answer.code == 0

    def stop(self) -> None:
        self.broker.stop()
        self.lab.network.settle()

    def start(self) -> None:
        self.broker.start()
        self.lab.network.settle()


def test_files_equal_those_of_a_real_broker(lab: BrokerLab, tmp_path: Path) -> None:
    folder = tmp_path / "config"
    kept_broker = Kept(lab, folder)
    peer = lab.peer(kept_broker.broker.addr)
    kept_broker.script(peer)
    assert kept(folder) == recorded("at_once")
    lab.pass_time(21_500)
    assert kept(folder) == recorded("grid")
    # A real broker looks at its half messages when it stops, too, which makes their topic.
    lab.pass_time(40_000)
    peer.close()
    kept_broker.stop()
    assert kept(folder) == recorded("stopped")
    kept_broker.start()
    kept_broker.broker.create_topic("later", 4)
    kept_broker.broker.groups.update(SubscriptionGroupConfig(group_name="later"))
    kept_broker.stop()
    assert kept(folder) == recorded("again")


@pytest.mark.parametrize(("label", "found"), [(words[0], words[1]) for words in lines("damage")])
def test_damaged_files_are_read_as_by_a_real_broker(
    lab: BrokerLab, tmp_path: Path, label: str, found: str
) -> None:
    starts, topics = json.loads(found)
    whole = json.loads(next(text for one, name, text in lines("file") if name == "topics.json"))
    half = whole[: len(whole) // 2]
    main, backup = {
        "whole": (whole, None),
        "empty": ("", whole),
        "missing": (None, whole),
        "cut": (half, whole),
        "cut_alone": (half, None),
        "cut_empty": (half, ""),
        "both_cut": (half, whole[:100]),
        "null": ("null", whole),
        "blank": (" \n", whole),
        "no_table": ("{}", whole),
        "null_table": ('{"topicConfigTable":null}', whole),
        "list": ("[]", whole),
        "number": ("5", whole),
        "behind": (whole + "}", whole),
    }[label]
    for name, text in (("topics.json", main), ("topics.json.bak", backup)):
        if text is not None:
            (tmp_path / name).write_text(text, encoding="utf-8")
    if not starts:
        with pytest.raises(StoreError, match=r"topics\.json: .*; .*topics\.json\.bak: "):
            lab.broker(config_folder=tmp_path)
        return
    broker = lab.broker(config_folder=tmp_path)
    assert [topic for topic in TOPICS if broker.topics.select(topic)] == topics
    warned = [event.text for event in lab.journal.find(Warned)]
    assert bool(warned) == (label in WARNED), warned


WARNED = (
    *("cut", "cut_alone", "cut_empty", "null_table", "number", "behind"),
    *("empty", "missing", "null", "blank", "no_table", "list"),
)


def test_text_file_keeps_its_previous_content(tmp_path: Path) -> None:
    file = DiskTextFile(str(tmp_path / "a" / "b.json"))
    assert (file.read(), file.read_backup()) == (None, None)
    file.write("one")
    file.write("half a pair: \ud800")
    assert (file.read(), file.read_backup()) == ("half a pair: ?", "one")
    file.delete()
    file.delete()
    assert list((tmp_path / "a").iterdir()) == []
