"""The folders of a commit log, as a config names them."""

from __future__ import annotations

import pytest

from fakemq.config.log_folders import LogPaths, log_paths
from fakemq.config.model import BrokerConfig
from fakemq.config.spec import cluster_spec
from fakemq.errors import ConfigError


def config(log: str | None, read_only: str | None = None) -> BrokerConfig:
    return BrokerConfig(
        broker_name="b",
        store_path_root_dir="/s",
        store_path_commit_log=log,
        read_only_commit_log_store_paths=read_only,
    )


def test_folders_are_split_as_java_splits_them() -> None:
    assert log_paths(config(None)) is None
    assert log_paths(config("/a")) == LogPaths(("/a",))
    assert log_paths(config(" /b,/a,/b,, ")) == LogPaths(("/b", "/a"))
    assert log_paths(config("/a,")) == LogPaths(("/a",))


def test_new_files_go_into_sorted_folders_that_are_not_read_only() -> None:
    paths = log_paths(config("/b,/a,/r", "/r,/old"))
    assert paths is not None
    assert paths.writable == ("/a", "/b")
    assert paths.all == ("/b", "/a", "/r", "/old")


def test_read_only_folders_count_only_beside_several() -> None:
    assert log_paths(config("/a", "/r")) == LogPaths(("/a",))


def test_store_in_memory_has_no_folders() -> None:
    alone = BrokerConfig(store_path_commit_log="/a,/b")
    assert log_paths(alone) is None


@pytest.mark.parametrize(
    ("log", "read_only", "why"),
    [
        ("/a, /b", None, "storePathCommitLog=/a, /b: expected folders with one comma"),
        ("/a,,/b", None, "'' is none"),
        ("/a,/b", "/r, /q", "readOnlyCommitLogStorePaths=/r, /q: expected folders"),
        ("/a,/b", "/b,/a", "expected a folder for new files too"),
        ("/a,/x/../a", None, "/a and /x/../a are one folder"),
        ("/a,/b", "/b/", "/b and /b/ are one folder"),
    ],
)
def test_folders_that_java_would_take_for_others_are_refused(
    log: str, read_only: str | None, why: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        log_paths(config(log, read_only))
    assert why in str(caught.value)


def test_one_folder_of_two_brokers_is_refused() -> None:
    own = [
        {"storePathRootDir": f"/s{number}", "storePathCommitLog": f"/l{number},/shared"}
        for number in range(2)
    ]
    with pytest.raises(ConfigError, match="storePathCommitLog=/shared is of both broker-a-0 and"):
        cluster_spec(masters=2, config=own)


def test_store_option_replaces_the_folders_of_a_config() -> None:
    settings = {
        "storePathRootDir": "/data",
        "storePathCommitLog": "/a,/b",
        "readOnlyCommitLogStorePaths": "/r",
    }
    said: list[str] = []
    (broker,) = cluster_spec(config=settings, store="/s", warn=said.append).broker_configs
    assert said == [
        f"config: {key}={value} has no effect: the option store (--store) replaces it"
        for key, value in settings.items()
    ]
    assert broker.store_path_commit_log is broker.read_only_commit_log_store_paths is None
    (broker,) = cluster_spec(config=settings).broker_configs
    assert log_paths(broker) == LogPaths(("/a", "/b"), ("/r",))
