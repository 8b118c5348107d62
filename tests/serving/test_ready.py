"""The ready file of a cluster: whose it is."""

from __future__ import annotations

from pathlib import Path

from fakemq.serving.ready import ReadyInfo, remove_ready_file, write_ready_file


def test_ready_file_is_removed_by_the_cluster_that_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    first, second = (ReadyInfo(namesrv="127.0.0.1:9876", cluster="", pid=pid) for pid in (3, 4))
    write_ready_file(str(path), first)
    write_ready_file(str(path), second)
    remove_ready_file(str(path), first)
    assert path.exists(), "another cluster has written it since"
    remove_ready_file(str(path), second)
    assert not path.exists()
