"""The end of a task, as the caller of a carrier waits for it."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class TaskEnd(Generic[T]):
    """The result or the error of a task, once the task is over."""

    __slots__ = ("error", "is_over", "value")

    def __init__(self) -> None:
        self.is_over = False
        self.value: T | None = None
        self.error: BaseException | None = None

    def finish(self, value: T | None, error: BaseException | None) -> None:
        """Take the result or the error, as `RunningTask` passes it."""
        self.value, self.error, self.is_over = value, error, True

    def result(self) -> T:
        """Return the result, or raise the error, which is dropped then."""
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # it refers to this frame
        return self.value  # type: ignore[return-value]  # T may be None itself
