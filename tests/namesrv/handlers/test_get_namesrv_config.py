"""GET_NAMESRV_CONFIG."""

from __future__ import annotations

from tests.support.namesrv_lab import namesrv_config
from tests.support.peer import Peer


def test_config_has_both_java_objects_in_hash_table_order(
    peer: Peer,
) -> None:
    config = namesrv_config(peer)
    assert config["orderMessageEnable"] == "false"
    assert config["productEnvName"] == "center"
    assert config["listenPort"] == "9876"
    assert config["serverChannelMaxIdleTimeSeconds"] == "120"
    assert list(config)[:3] == [
        "serverSocketBacklog",
        "writeBufferHighWaterMark",
        "serverWorkerThreads",
    ]
    assert len(config) == 17, "what is null is left out"
