"""Texts of times, in the machine's time zone. Nothing here reads a clock.

Source: common/UtilAll.java (4.9.7)
"""

from __future__ import annotations

from time import localtime, mktime, strftime


def human_time(timestamp_ms: int) -> str:
    """Return ``yyyyMMddHHmmssSSS``. Source: UtilAll.java#timeMillisToHumanString (4.9.7)"""
    return _format("%Y%m%d%H%M%S", timestamp_ms)


def time_text(timestamp_ms: int) -> str:
    """Return ``yyyy-MM-dd#HH:mm:ss:SSS``. Source: UtilAll.java#YYYY_MM_DD_HH_MM_SS_SSS (4.9.7)"""
    return _format("%Y-%m-%d#%H:%M:%S:", timestamp_ms)


def human_time2(timestamp_ms: int) -> str:
    """Return ``yyyy-MM-dd HH:mm:ss,SSS``. Source: UtilAll.java#timeMillisToHumanString2 (4.9.7)"""
    return _format("%Y-%m-%d %H:%M:%S,", timestamp_ms)


def next_morning_ms(timestamp_ms: int) -> int:
    """Return the next midnight. Source: UtilAll.java#computeNextMorningTimeMillis (4.9.7)"""
    day = localtime(timestamp_ms // 1000)
    return int(mktime((day.tm_year, day.tm_mon, day.tm_mday + 1, 0, 0, 0, 0, 0, -1))) * 1000


def hour_of_day(timestamp_ms: int) -> int:
    """Return the hour of the day, from 0 to 23."""
    return localtime(timestamp_ms // 1000).tm_hour


def next_hour_ms(timestamp_ms: int) -> int:
    """Return when the next hour begins."""
    at = localtime(timestamp_ms // 1000)
    past_ms = (at.tm_min * 60 + at.tm_sec) * 1000 + timestamp_ms % 1000
    return timestamp_ms - past_ms + 3_600_000


def _format(text: str, timestamp_ms: int) -> str:
    seconds, ms = divmod(timestamp_ms, 1000)
    return f"{strftime(text, localtime(seconds))}{ms:03}"
