"""The watchdog of a fetch."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from scoter.config import Size
from scoter.config.sections.fetch import FetchSettings
from scoter.fetch.watchdog import Watchdog, WatchdogAction, WatchdogAdvice, WatchdogReading


def pulse(
    *, requests: int = 0, pages: int = 0, size: int = 0, workers: int = 10, useful: int = 1_000
) -> WatchdogReading:
    return WatchdogReading(requests=requests, pages=pages, bytes=size, workers=workers, useful_workers=useful)


def run(watch: Watchdog, rates: list[int], start: int = 0) -> list[WatchdogAction]:
    """Tick once a second; each rate is the pages, and requests, of that second."""
    total, orders = 0, []
    for second, rate in enumerate(rates, start + 1):
        total += rate
        orders.append(watch.tick(pulse(requests=second, pages=total), float(second)).action)
    return orders


def test_healthy_fetch_continues() -> None:
    watch = Watchdog(FetchSettings(throughput_threshold_pages=1.0, time_limit=timedelta(hours=1)), now=0.0)

    assert set(run(watch, [5] * 600)) == {WatchdogAction.GO_ON}


def test_the_time_limit_drains_once() -> None:
    watch = Watchdog(FetchSettings(time_limit=timedelta(seconds=3)), now=0.0)

    assert run(watch, [1] * 5) == [
        WatchdogAction.GO_ON,
        WatchdogAction.GO_ON,
        WatchdogAction.DRAIN,
        WatchdogAction.GO_ON,
        WatchdogAction.GO_ON,
    ]


def test_too_few_pages_for_some_seconds_in_a_row_drain() -> None:
    watch = Watchdog(
        FetchSettings(
            throughput_threshold_pages=2.0,
            throughput_threshold_retries=5,
            throughput_threshold_check_after=timedelta(0),
        ),
        now=0.0,
    )

    orders = run(watch, [1] * 4 + [2] + [1] * 5)

    assert orders == [WatchdogAction.GO_ON] * 9 + [WatchdogAction.DRAIN]


def test_throughput_floor_is_ignored_at_the_start() -> None:
    watch = Watchdog(
        FetchSettings(
            throughput_threshold_pages=2.0,
            throughput_threshold_retries=5,
            throughput_threshold_check_after=timedelta(seconds=300),
        ),
        now=0.0,
    )

    orders = run(watch, [0] * 310)

    assert orders.index(WatchdogAction.DRAIN) + 1 == 304


def test_no_new_request_for_a_long_time_aborts() -> None:
    watch = Watchdog(FetchSettings(hung_after=timedelta(seconds=300)), now=0.0)
    assert watch.tick(pulse(requests=7), 100.0).action is WatchdogAction.GO_ON

    assert watch.tick(pulse(requests=7), 399.0).action is WatchdogAction.GO_ON
    advice = watch.tick(pulse(requests=7), 400.0)

    assert advice == WatchdogAdvice(action=WatchdogAction.ABORT, reason="no new request for 300 s", workers=10)


def test_waiting_for_a_near_slot_is_not_hanging() -> None:
    watch = Watchdog(FetchSettings(hung_after=timedelta(seconds=300)), now=0.0)

    assert watch.tick(replace(pulse(), next_in=1.0), 300.0).action is WatchdogAction.GO_ON
    assert watch.tick(replace(pulse(), next_in=1.0), 600.0).action is WatchdogAction.ABORT


def test_distant_slot_counts_as_hanging() -> None:
    watch = Watchdog(FetchSettings(hung_after=timedelta(seconds=300)), now=0.0)

    assert watch.tick(replace(pulse(), next_in=3_600.0), 299.0).action is WatchdogAction.GO_ON
    assert watch.tick(replace(pulse(), next_in=3_600.0), 300.0).action is WatchdogAction.ABORT


def test_distant_slot_within_the_time_limit_is_waited_for() -> None:
    settings = FetchSettings(hung_after=timedelta(seconds=300), time_limit=timedelta(hours=1))
    watch = Watchdog(settings, now=0.0)

    for second in range(0, 2_900, 10):
        assert watch.tick(replace(pulse(), next_in=3_000.0 - second), float(second)).action is WatchdogAction.GO_ON
    assert watch.tick(replace(pulse(), next_in=900.0), 3_400.0).action is WatchdogAction.ABORT  # it comes too late


def test_waiting_for_the_source_or_the_sink_is_not_hanging() -> None:
    watch = Watchdog(FetchSettings(hung_after=timedelta(seconds=300)), now=0.0)

    assert watch.tick(replace(pulse(), waits_for_others=True), 900.0).action is WatchdogAction.GO_ON
    assert watch.tick(pulse(), 1_199.0).action is WatchdogAction.GO_ON
    assert watch.tick(pulse(), 1_200.0).action is WatchdogAction.ABORT


def test_workers_follow_the_bandwidth_target() -> None:
    watch = Watchdog(
        FetchSettings(
            bandwidth_target=Size(1_000), bandwidth_target_check_every=timedelta(seconds=30), max_num_threads=25
        ),
        now=0.0,
    )

    assert watch.tick(pulse(requests=1, size=100), 29.0).workers == 10
    assert watch.tick(pulse(requests=2, size=15_000), 30.0).workers == 20
    assert watch.tick(pulse(requests=3, size=15_000 + 300_000, workers=20), 60.0).workers == 2
    assert watch.tick(pulse(requests=4, size=15_000 + 300_300, workers=20), 90.0).workers == 25


def test_no_more_workers_are_wanted_than_have_something_to_do() -> None:
    watch = Watchdog(
        FetchSettings(
            bandwidth_target=Size(1_000), bandwidth_target_check_every=timedelta(seconds=30), max_num_threads=100
        ),
        now=0.0,
    )

    assert watch.tick(pulse(requests=1, size=3_000, useful=12), 30.0).workers == 12
    assert watch.tick(pulse(requests=2, size=6_000, useful=3), 60.0).workers == 10
    assert watch.tick(pulse(requests=3, size=6_000), 90.0).workers == 10


def test_there_is_always_one_worker() -> None:
    watch = Watchdog(
        FetchSettings(bandwidth_target=Size(1), bandwidth_target_check_every=timedelta(seconds=1)), now=0.0
    )

    assert watch.tick(pulse(requests=1, size=10**9), 1.0).workers == 1
