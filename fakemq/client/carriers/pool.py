"""Threads for the functions of users, as many as run at the same time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from fakemq.client.carrier import Performed

DEFAULT_SIZE = 64

Post = Callable[[Callable[..., object], tuple[Any, ...]], None]
"""Calls a function with these arguments on the thread of the carrier."""


class Job:
    """One function to call, and where its result goes."""

    __slots__ = ("_args", "_done", "_function", "cancelled")

    def __init__(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed
    ) -> None:
        self._function = function
        self._args = args
        self._done = done
        self.cancelled = False

    def cancel(self) -> None:
        """Do not call it any more; a call that has begun continues to its end."""
        self.cancelled = True

    def call(self) -> tuple[Performed, tuple[Any, BaseException | None]] | None:
        """Call the function; return what takes its result, and the result. None if cancelled."""
        if self.cancelled:
            return None
        try:
            return self._done, (self._function(*self._args), None)
        except BaseException as error:
            return self._done, (None, error)


class _Worker:
    """One thread of a pool."""

    __slots__ = ("has_job", "thread", "woken")

    def __init__(self, work: Callable[[_Worker], None], name: str) -> None:
        self.thread = threading.Thread(target=work, args=(self,), name=name, daemon=True)
        self.woken = threading.Lock()
        self.woken.acquire()
        self.has_job = False
        """Set with the lock of the pool; reset by the thread before it posts a result."""


class Pool:
    """Up to ``size`` daemon threads that take jobs from one queue.

    A thread is woken only if no woken one is still on its way: it takes job after job, and wakes
    the next thread while there are more. So short functions, of which each would end before another
    thread runs, are called in a row, and functions that wait are called at the same time.
    """

    def __init__(self, name: str, post: Post, *, size: int = DEFAULT_SIZE) -> None:
        self._name = name
        self._post = post
        self._size = size
        self.ends_at_close: list[threading.Thread] = []
        """After `close`: the threads within no function, which end at once."""
        self._lock = threading.Lock()
        # All below is guarded by the lock.
        self._jobs: deque[Job] = deque()
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._waking = False
        self._closed = False

    def start(self, job: Job) -> None:
        """Run a job on a thread as soon as one is free.

        Raise RuntimeError if there is no thread, and the system starts none.
        """
        with self._lock:
            self._jobs.append(job)
            if not self._waking:
                try:
                    self._wake_one()
                except RuntimeError:
                    self._jobs.pop()
                    raise

    def _wake_one(self) -> None:
        if self._idle:
            self._waking = True
            self._idle.pop().woken.release()
        elif len(self._workers) < self._size and not self._closed:
            worker = _Worker(self._work, f"{self._name}-{len(self._workers) + 1}")
            try:
                worker.thread.start()
            except RuntimeError:  # the system has no further thread: the others do its work
                if not self._workers:
                    raise
                return
            # After its start: `_work` waits for the lock.
            self._waking = True
            self._workers.append(worker)

    def _work(self, worker: _Worker) -> None:
        was_woken = True
        while True:
            with self._lock:
                if was_woken:
                    self._waking = was_woken = False
                job = self._jobs.popleft() if self._jobs else None
                if job is None and self._closed:
                    return
                if job is None:
                    self._idle.append(worker)
                else:
                    worker.has_job = True
                    if self._jobs and not self._waking:
                        self._wake_one()
            if job is None:
                worker.woken.acquire()
                was_woken = True
                continue
            ended = job.call()
            worker.has_job = False  # a close that knows of the result waits for this thread
            if ended is not None:
                self._post(*ended)
            job = ended = None  # do not keep its message until the next one comes

    def close(self) -> None:
        """Drop jobs that have not begun, and let each thread end when it is idle."""
        with self._lock:
            self._closed = True
            self._jobs.clear()
            idle, self._idle = self._idle, []
            for worker in idle:
                worker.woken.release()
            self.ends_at_close = [one.thread for one in self._workers if not one.has_job]
