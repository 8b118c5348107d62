"""The threads of functions of users: how many are woken for which functions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest

from fakemq.client.carriers.pool import Job, Pool

LIMIT_S = 10


class Results:
    """What the pool posts, called in the thread of the test."""

    def __init__(self) -> None:
        self._posted: SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]] = SimpleQueue()
        self.values: list[object] = []

    def post(self, function: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._posted.put((function, args))

    def done(self, value: object, error: BaseException | None) -> None:
        self.values.append(value if error is None else error)

    def take(self, count: int) -> list[object]:
        for _ in range(count):
            function, args = self._posted.get(timeout=LIMIT_S)
            function(*args)
        return self.values


def test_jobs_end_with_value_or_error() -> None:
    results = Results()
    pool = Pool("p", results.post)
    pool.start(Job(lambda one: one + 1, (1,), results.done))
    assert results.take(1) == [2]
    pool.start(Job(lambda: 1 // 0, (), results.done))
    assert isinstance(results.take(1)[1], ZeroDivisionError)
    pool.close()


def test_threads_are_limited_and_used_again() -> None:
    results = Results()
    pool = Pool("limited", results.post, size=3)
    release = threading.Event()
    running = threading.Semaphore(0)

    def function() -> str:
        running.release()
        release.wait(LIMIT_S)
        return threading.current_thread().name

    for _ in range(12):
        pool.start(Job(function, (), results.done))
    for _ in range(3):
        assert running.acquire(timeout=LIMIT_S)
    assert not running.acquire(timeout=0)
    release.set()
    assert set(results.take(12)) == {"limited-1", "limited-2", "limited-3"}
    pool.close()


def test_threads_that_are_there_do_the_work_when_the_system_starts_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = Results()
    pool = Pool("few", results.post)
    entered, release = threading.Event(), threading.Event()

    def wait() -> str:
        entered.set()
        release.wait(LIMIT_S)
        return "first"

    pool.start(Job(wait, (), results.done))
    assert entered.wait(LIMIT_S)
    with monkeypatch.context() as without_threads:
        without_threads.setattr(threading.Thread, "start", _refuse)
        pool.start(Job(lambda: "second", (), results.done))
        release.set()
        assert results.take(2) == ["first", "second"]
    pool.close()


def test_job_is_refused_without_any_thread_and_the_next_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = Results()
    pool = Pool("none", results.post)
    with monkeypatch.context() as without_threads:
        without_threads.setattr(threading.Thread, "start", _refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            pool.start(Job(lambda: "refused", (), results.done))
    pool.start(Job(lambda: "next", (), results.done))
    assert results.take(1) == ["next"]
    pool.close()


def _refuse(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_cancelled_job_is_not_called() -> None:
    results = Results()
    pool = Pool("p", results.post, size=1)
    release = threading.Event()
    pool.start(Job(lambda: release.wait(LIMIT_S), (), results.done))
    cancelled = Job(lambda: "cancelled", (), results.done)
    pool.start(cancelled)
    pool.start(Job(lambda: "last", (), results.done))
    cancelled.cancel()
    release.set()
    assert results.take(2) == [True, "last"]
    pool.close()


def test_close_ends_idle_threads_and_drops_jobs() -> None:
    results = Results()
    pool = Pool("p", results.post, size=1)
    begun, release = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def function() -> None:
        threads.append(threading.current_thread())
        begun.set()
        release.wait(LIMIT_S)

    pool.start(Job(function, (), results.done))
    pool.start(Job(lambda: "dropped", (), results.done))
    assert begun.wait(LIMIT_S)
    pool.close()
    assert pool.ends_at_close == []
    release.set()
    threads[0].join(LIMIT_S)
    assert not threads[0].is_alive()
    assert results.take(1) == [None]


def test_close_knows_the_threads_whose_result_is_there() -> None:
    results = Results()
    release = threading.Event()

    def post(function: Callable[..., object], args: tuple[Any, ...]) -> None:
        results.post(function, args)
        release.wait(LIMIT_S)

    pool = Pool("p", post)
    pool.start(Job(threading.current_thread, (), results.done))
    (thread,) = results.take(1)
    pool.close()
    assert pool.ends_at_close == [thread]
    release.set()
    pool.ends_at_close[0].join(LIMIT_S)
    assert not pool.ends_at_close[0].is_alive()
