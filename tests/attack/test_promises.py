"""What clients were promised is compared with what is there."""

from __future__ import annotations

from tests.support.promises import Promises


def promised() -> Promises[int]:
    promises = Promises[int]()
    promises.sent |= {b"a", b"b", b"c"}
    promises.acknowledged |= {0: b"a", 1: b"b"}
    promises.later.add(b"c")
    return promises


def test_messages_that_are_there_break_no_promise() -> None:
    promises, found = promised(), {0: b"a", 1: b"b", 2: b"c"}
    assert len(promises) == 3
    assert not promises.lost(found)
    assert not promises.missing(found.values())
    assert not promises.invented(found.values())


def test_message_that_is_lost_late_or_invented_is_named() -> None:
    promises = promised()
    assert promises.lost({0: b"a", 1: b"c"}) == [
        "at 1 is b'c' of 1 bytes, not the acknowledged b'b' of 1 bytes"
    ]
    assert promises.lost({0: b"a"}) == ["at 1 is nothing, not the acknowledged b'b' of 1 bytes"]
    assert promises.missing([b"a"]) == ["b'c' of 1 bytes never comes"]
    assert promises.invented([b"a", b"d"]) == ["b'd' of 1 bytes was never sent"]


def test_withdrawn_promise_has_no_effect() -> None:
    promises = promised()
    promises.withdraw(lambda place: place > 0)
    assert not promises.lost({0: b"a"})


def test_promises_of_several_clients_are_compared_together() -> None:
    other = Promises[int]()
    other.acknowledged[7] = b"e"
    both = Promises.of_all([promised(), other])
    assert len(both) == 4
    assert len(both.lost({})) == 3


def test_only_some_of_many_are_named() -> None:
    promises = Promises[int]()
    promises.acknowledged |= dict.fromkeys(range(10), b"a")
    assert promises.lost({})[3:] == ["and 7 more"]
