"""The files of timer messages: which message becomes due in which second.

The messages themselves are in the commit log. Only brokers of 5.5.0 have timers.
"""

from __future__ import annotations

from typing import Final

LOG_FOLDER: Final = "timerlog"
WHEEL_PATH: Final = "timerwheel"
CHECKPOINT_PATH: Final = "config/timercheck"
