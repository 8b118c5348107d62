"""What speedups.c has; `fakemq.protocol.native` says what the functions do."""

from collections.abc import Callable
from typing import Any

learn: Callable[..., None]
usual_frames: Callable[[bytes, int, list[Any]], int]
plain_properties: Callable[..., tuple[bytes, int, str, bool, bool] | None]
record: Callable[..., tuple[bytes, bytes, str]]
