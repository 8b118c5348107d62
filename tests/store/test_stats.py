"""Statistics of a store: rates, totals, times of puts."""

from __future__ import annotations

from fakemq.store.results import PutMessageStatus
from tests.support.store_lab import StoreLab
from tests.support.time import START_MS


def info(lab: StoreLab) -> dict[str, str]:
    return lab.store.stats.runtime_info()


def test_rates_need_enough_seconds() -> None:
    lab = StoreLab(log_bytes=1 << 20)
    for _ in range(3):
        lab.put()
    lab.store.get_message("g", "orders", 0, 0, 32)
    lab.store.get_message("g", "orders", 0, 3, 32)
    assert info(lab)["putTps"] == "  "
    assert info(lab)["getTotalTps"] == "0.0 0.0 0.0"
    lab.advance(10_999)
    assert info(lab)["putTps"] == "  "
    lab.advance(1)
    # Java compares with the sample of the first second, in which all was over.
    assert info(lab)["putTps"] == "0.0  "
    lab.put()
    lab.advance(1_000)
    assert info(lab)["putTps"] == "0.1  "
    lab.store.get_message("g", "orders", 0, 0, 32)
    lab.advance(60_000)
    found = info(lab)
    assert found["putTps"].startswith("0.0 0.0")
    assert found["getFoundTps"] == f"0.0 {1 / 60_000 * 1000} "
    assert found["getTransferedTps"] == f"0.0 {4 / 60_000 * 1000} "
    assert found["getMissTps"] == "0.0 0.0 "


def test_totals_and_averages_are_counted() -> None:
    lab = StoreLab()
    assert info(lab)["putMessageTimesTotal"] == "1"
    assert info(lab)["putMessageAverageSize"] == "0.0"
    lab.put(b"")
    lab.put(bytes(10))
    found = info(lab)
    assert found["putMessageTimesTotal"] == "2"
    assert found["putMessageSizeTotal"] == str(lab.store.max_phy_offset)
    assert found["putMessageAverageSize"] == str(lab.store.max_phy_offset / 2)


def test_failed_puts_are_counted() -> None:
    lab = StoreLab(log_bytes=1 << 20)
    assert lab.put(properties="k\x01" + "é" * 20_000).status is (
        PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
    )
    assert info(lab)["putMessageFailedTimes"] == "1"
    lab.put(properties="k\x01" + "e" * 40_000)
    assert info(lab)["putMessageFailedTimes"] == "1"


def test_put_times_are_those_of_the_last_whole_minute() -> None:
    lab = StoreLab()
    for _ in range(4):
        lab.put()
    assert info(lab)["putMessageDistributeTime"] == "null"
    assert info(lab)["putLatency99"] == "0.00"
    lab.advance(60_000)
    assert info(lab)["putMessageDistributeTime"].startswith("[<=0ms]:4 [0~10ms]:0 ")
    assert info(lab)["putMessageDistributeTime"].endswith(" [10s~]:0 ")
    assert info(lab)["putLatency99"] == "0.75"
    lab.advance(60_000)
    assert info(lab)["putMessageDistributeTime"].startswith("[<=0ms]:0 ")


def test_running_time_is_shown() -> None:
    lab = StoreLab()
    lab.advance((((2 * 24 + 3) * 60 + 4) * 60 + 5) * 1000 + 999)
    assert info(lab)["bootTimestamp"] == str(START_MS)
    assert info(lab)["runtime"] == "[ 2 days, 3 hours, 4 minutes, 5 seconds ]"


def test_totals_of_the_last_two_mornings_are_shown() -> None:
    lab = StoreLab(log_bytes=1 << 20)
    lab.put()
    assert lab.store.stats.totals_by_day()["msgPutTotalTodayMorning"] == "0"
    lab.advance(24 * 3_600_000)
    lab.put()
    lab.put()
    lab.store.get_message("g", "orders", 0, 0, 32)
    lab.advance(24 * 3_600_000)
    lab.put()
    assert lab.store.stats.totals_by_day() == {
        "msgPutTotalYesterdayMorning": "1",
        "msgPutTotalTodayMorning": "3",
        "msgPutTotalTodayNow": "4",
        "msgGetTotalYesterdayMorning": "0",
        "msgGetTotalTodayMorning": "3",
        "msgGetTotalTodayNow": "3",
    }


def test_reset_forgets_all_counts() -> None:
    lab = StoreLab()
    lab.put()
    lab.advance(5_000)
    lab.store.reset()
    assert info(lab)["putMessageSizeTotal"] == "0"
    assert info(lab)["bootTimestamp"] == str(START_MS + 5_000)
