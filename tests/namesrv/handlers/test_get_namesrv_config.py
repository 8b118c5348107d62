"""GET_NAMESRV_CONFIG."""

from __future__ import annotations

from tests.support.namesrv_lab import namesrv_config
from tests.support.peer import Peer


def test_both_of_java_s_config_objects_are_in_it_as_java_s_hash_table_walks_them(
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
