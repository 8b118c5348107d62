"""The six strategies by hand-written examples; conformance compares them with Java's classes."""

from __future__ import annotations

import re
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.client.consuming.allocation import (
    AllocateStrategy,
    Strategy,
    averagely,
    averagely_by_circle,
    by_config,
    by_machine_room,
    by_name,
    consistent_hash,
    machine_room_nearby,
    strategy_name,
)
from fakemq.client.consuming.allocation.strategies import java_order, md5
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.queue import MessageQueue


def queues(count: int, broker: str = "b") -> list[MessageQueue]:
    return [MessageQueue("t", broker, number) for number in range(count)]


def shares(strategy: AllocateStrategy, count: int, members: int) -> list[list[int]]:
    ids = [f"c{number}" for number in range(members)]
    return [[one.queue_id for one in strategy("g", mine, queues(count), ids) or ()] for mine in ids]


class Rooms:
    """Resolves rooms by what stands before a dash."""

    def broker_deploy_in(self, queue: MessageQueue) -> str:
        return (queue.broker_name or "").rpartition("-")[0]

    def consumer_deploy_in(self, client_id: str) -> str:
        return client_id.rpartition("-")[0]


def test_averagely_divides_neighbouring_queues() -> None:
    assert shares(averagely, 8, 3) == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert shares(averagely, 2, 3) == [[0], [1], []]


def test_averagely_by_circle_divides_every_nth_queue() -> None:
    assert shares(averagely_by_circle, 8, 3) == [[0, 3, 6], [1, 4, 7], [2, 5]]


def test_by_config_takes_the_named_queues() -> None:
    chosen = queues(2, "other")
    assert by_config(chosen)("g", "not a member", [], []) == tuple(chosen)


def test_by_machine_room_divides_the_queues_of_its_rooms() -> None:
    inside, outside, odd = queues(5, "r1@b"), queues(3, "r2@b"), queues(2, "r1@b@c")
    strategy = by_machine_room(["r1"])
    every = [*inside, *outside, *odd, *queues(1)]
    assert strategy("g", "c0", every, ["c0", "c1"]) == [inside[0], inside[1], inside[4]]
    assert strategy("g", "c1", every, ["c0", "c1"]) == [inside[2], inside[3]]


def test_by_machine_room_drops_empty_parts_at_the_end_of_a_name_as_java() -> None:
    assert by_machine_room(["r"])("g", "c", queues(1, "r@b@@"), ["c"]) == queues(1, "r@b@@")
    assert by_machine_room(["r"])("g", "c", queues(1, "r@"), ["c"]) == []
    assert by_machine_room([""])("g", "c", queues(1, "@b"), ["c"]) == queues(1, "@b")


def test_machine_room_nearby_shares_rooms_without_clients() -> None:
    near, far, empty = queues(2, "a-1"), queues(2, "b-1"), queues(2, "c-1")
    strategy = machine_room_nearby(averagely, Rooms())
    ids = ["a-1", "a-2", "b-1"]
    divided = {one: list(strategy("g", one, near + far + empty, ids) or ()) for one in ids}
    assert divided == {"a-1": [near[0], empty[0]], "a-2": [near[1], empty[1]], "b-1": far}
    assert strategy.name == "MACHINE_ROOM_NEARBY-AVG"


def test_machine_room_nearby_refuses_what_has_no_room() -> None:
    strategy = machine_room_nearby(averagely, Rooms())
    text = "Machine room is null for mq MessageQueue [topic=t, brokerName=b, queueId=0]"
    with pytest.raises(ValueError, match=re.escape(text)):
        strategy("g", "a-1", queues(1, "b"), ["a-1"])
    with pytest.raises(ValueError, match="Machine room is null for consumer id c"):
        strategy("g", "a-1", queues(1, "a-1"), ["a-1", "c"])


def test_consistent_hash_moves_only_the_queues_of_a_member_that_leaves() -> None:
    strategy = consistent_hash()
    before = shares(strategy, 64, 4)
    after = shares(strategy, 64, 3)
    assert sorted(chain(*before)) == sorted(chain(*after)) == list(range(64))
    for kept, more in zip(before[:3], after, strict=True):
        assert set(kept) <= set(more)


def test_consistent_hash_without_nodes_divides_nothing() -> None:
    assert shares(consistent_hash(0), 4, 2) == [[], []]
    with pytest.raises(ValueError, match="illegal virtualNodeCnt :-1"):
        consistent_hash(-1)


def test_consistent_hash_takes_another_hash() -> None:
    def place(text: str) -> int:
        name, _, number = text.rstrip("]").replace("queueId=", "-").rpartition("-")
        return int(name[1:]) * 2 if name.startswith("c") else int(number)

    strategy = consistent_hash(1, place)
    assert strategy.has_user_code
    assert shares(strategy, 4, 2) == [[0, 3], [1, 2]]


def test_md5_has_four_bytes_and_replaces_half_pairs() -> None:
    assert md5("") == 0xD41D8CD9
    assert md5("\ud800") == md5("?")


@pytest.mark.parametrize(
    "strategy",
    [
        *(averagely, averagely_by_circle, by_machine_room(["r"]), consistent_hash()),
        machine_room_nearby(averagely, Rooms()),
    ],
    ids=strategy_name,
)
def test_strategies_check_their_arguments_with_javas_texts(strategy: Strategy) -> None:
    with pytest.raises(ValueError, match=r"^currentCID is empty$"):
        strategy("g", "", queues(1), ["c"])
    with pytest.raises(ValueError, match=r"^mqAll is null or mqAll empty$"):
        strategy("g", "c", [], ["c"])
    with pytest.raises(ValueError, match=r"^cidAll is null or cidAll empty$"):
        strategy("g", "c", queues(1), [])
    assert not strategy("g", "c", queues(1), ["another"])


@given(
    strategy=st.sampled_from([averagely, averagely_by_circle, consistent_hash()]),
    count=st.integers(1, 40),
    members=st.integers(1, 12),
)
def test_shares_are_disjoint_and_complete(strategy: Strategy, count: int, members: int) -> None:
    assert sorted(chain(*shares(strategy, count, members))) == list(range(count))


def test_strategies_are_found_by_rocketmqs_names() -> None:
    assert by_name("AVG") is averagely
    assert by_name("CONSISTENT_HASH").name == "CONSISTENT_HASH"
    with pytest.raises(ConfigError, match=r"use by_config\(queues\)"):
        by_name("CONFIG")
    with pytest.raises(ConfigError, match="did you mean AVG_BY_CIRCLE"):
        by_name("AVG_BY_CIRCEL")


def test_strings_are_ordered_by_their_utf16_units_as_java() -> None:
    assert sorted(["\uffff", "\U00010000", "a"], key=java_order) == ["a", "\U00010000", "\uffff"]
