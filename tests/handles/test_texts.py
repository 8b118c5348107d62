"""A text of which UTF-8 has no bytes is refused by the name of its argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import fakemq
from fakemq.config.spec import cluster_spec
from fakemq.errors import ConfigError

HALF = "caf\ud800"


@pytest.fixture(scope="module")
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as cluster:
        yield cluster


Call = Callable[[fakemq.Cluster], object]
CALLS: dict[str, Call] = {
    "body 0": lambda mq: mq.seed("orders", [HALF]),
    "tags": lambda mq: mq.seed("orders", ["x"], tags=HALF),
    "keys": lambda mq: mq.seed("orders", ["x"], keys=["k", HALF]),
    "keys given as one": lambda mq: mq.seed("orders", ["x"], keys=HALF),
    "the messages wanted of orders": lambda mq: mq.consumer(group="g", subscribe={"orders": HALF}),
    "property 'a'": lambda mq: mq.seed("orders", ["x"], properties={"a": HALF}),
    "body": lambda mq: mq.faults.reply("send", body=HALF),
    "remark": lambda mq: mq.faults.error("send", code=1, remark=HALF),
    "the body": lambda mq: mq.producer(group="p").send("orders", HALF),
}


@pytest.mark.parametrize("name", CALLS)
def test_half_a_surrogate_pair_is_refused(mq: fakemq.Cluster, name: str) -> None:
    with pytest.raises(
        ConfigError,
        match=rf"^{name.removesuffix(' given as one')}: character 3 is '.ud800', half a surrogate",
    ):
        CALLS[name](mq)
    assert not mq.messages("orders")


def test_half_a_surrogate_pair_is_no_value_of_a_config() -> None:
    with pytest.raises(ConfigError, match=r"config: brokerName=caf.ud800: expected "):
        cluster_spec(config={"brokerName": HALF})
