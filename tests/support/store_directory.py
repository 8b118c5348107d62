"""A store directory as a broker leaves it behind."""

from __future__ import annotations

from pathlib import Path

from tests.support.store_lab import StoreLab
from tests.support.time import START_MS

TOPICS = ("orders", "billing")


def write_store(root: Path) -> None:
    """A small store: two topics, two queues each, several files of everything, as a directory."""
    lab = StoreLab(log_bytes=2_000, queue_units=6, max_index_num=12, max_hash_slot_num=5)
    for number in range(30):
        properties = (
            f"TAGS\x01t{number % 3}\x02KEYS\x01k{number} shared\x02UNIQ_KEY\x01U{number}\x02"
        )
        lab.put(b"body %d" % number, TOPICS[number % 2], number // 2 % 2, properties)
        lab.advance(700)
    lab.store.index.catch_up()
    for folder in ("commitlog", "consumequeue", "index"):
        for path in lab.files.list(folder):
            file = lab.files.open(path, 0)
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            data = bytes(file.view[: file.size_bytes])
            target.write_bytes(data.ljust(file.size_bytes, b"\0"))
    config = root / "config"
    config.mkdir()
    (config / "topics.json").write_text(
        '{"topicConfigTable":{"orders":{"topicName":"orders","perm":6},"billing":{"perm":6}}}'
    )
    (config / "consumerOffset.json").write_text(
        '{"offsetTable":{"orders@g":{0:3,1:4},"billing@g":{0:1}}}'
    )
    (config / "consumerFilter.json").write_text('{"filterDataByTopic":{}}')
    (config / "delayOffset.json").write_text('{"offsetTable":{1:7}}')
    (root / "checkpoint").write_bytes(START_MS.to_bytes(8) * 3 + bytes(4072))
