"""The update rule over its whole range, compared with a table written by hand."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from scoter.core.datum import GENERATE_MARK, CrawlDatum, DbStatus, FetchStatus, PartStatus, Status
from scoter.core.schedule import AdaptiveSchedule, Schedule
from scoter.core.scoring import opic_score
from scoter.core.update import UpdateRules, best_links, newest, update
from scoter.core.url import Url, canonical

URL = canonical("http://example.com/")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
FETCHED = NOW - timedelta(hours=2)
BEFORE = NOW - timedelta(days=40)
DAY = timedelta(days=1)
OLD_SIGNATURE, NEW_SIGNATURE = b"o" * 16, b"n" * 16


class AddingUp:
    """Scores as OPIC does, and records orphaned URLs."""

    def __init__(self) -> None:
        self.orphans: list[CrawlDatum] = []

    def initial(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        return replace(datum, score=0.0)

    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum:
        return replace(new, score=opic_score(old, new, links))

    def orphaned(self, url: Url, datum: CrawlDatum, now: datetime) -> CrawlDatum:
        self.orphans.append(datum)
        return datum


def rules(schedule: Schedule | None = None, **changes: object) -> UpdateRules:
    return replace(UpdateRules(schedule=schedule or Schedule(), scoring=AddingUp()), **changes)


def old_record(status: DbStatus, signature: bytes | None = OLD_SIGNATURE) -> CrawlDatum:
    return CrawlDatum(
        status=status,
        fetch_time=BEFORE,
        modified_time=BEFORE - DAY,
        interval=30 * DAY,
        score=2.0,
        signature=signature,
        metadata={"kept": "old", "both": "old", GENERATE_MARK: "1"},
        extra={"depth": 3},
    )


def fetch_record(status: Status, retries: int = 0, signature: bytes | None = None) -> CrawlDatum:
    return CrawlDatum(
        status=status,
        fetch_time=FETCHED,
        interval=30 * DAY,
        retries=retries,
        score=7.0,
        signature=signature,
        metadata={"both": "new"},
    )


def linked(score: float) -> CrawlDatum:
    return CrawlDatum(status=PartStatus.LINKED, score=score, metadata={"from": "link"})


OUTCOMES: list[Status | None] = [None, *FetchStatus, PartStatus.PARSE_FAILED]
OLDS: list[DbStatus | None] = [None, *DbStatus]
LINKS = [[], [linked(0.5)], [linked(0.25), linked(1.0), linked(0.5)]]
SCHEDULES = [Schedule(), AdaptiveSchedule()]
SIGNATURES = ["same", "different", "absent"]

# The new status if the signatures do not show that the page is unchanged.
ENDS: dict[Status, DbStatus] = {
    FetchStatus.SUCCESS: DbStatus.FETCHED,
    FetchStatus.RETRY: DbStatus.UNFETCHED,
    FetchStatus.REDIR_TEMP: DbStatus.REDIR_TEMP,
    FetchStatus.REDIR_PERM: DbStatus.REDIR_PERM,
    FetchStatus.GONE: DbStatus.GONE,
    FetchStatus.NOTMODIFIED: DbStatus.NOTMODIFIED,
    PartStatus.PARSE_FAILED: DbStatus.PARSE_FAILED,
}
MATRIX = list(itertools.product(OLDS, OUTCOMES, LINKS, SCHEDULES, SIGNATURES))


def test_table_covers_every_status_and_outcome() -> None:
    assert len(MATRIX) == 10 * 8 * 3 * 2 * 3


@pytest.mark.parametrize("outcome", OUTCOMES, ids=str)
@pytest.mark.parametrize("before", OLDS, ids=str)
def test_new_status_follows_the_table(before: DbStatus | None, outcome: Status | None) -> None:
    for links, schedule, kind in itertools.product(LINKS, SCHEDULES, SIGNATURES):
        # given
        old = None if before is None else old_record(before)
        fetch = None if outcome is None else fetch_record(outcome)
        signature = {"same": OLD_SIGNATURE, "different": NEW_SIGNATURE, "absent": None}[kind]

        # when
        result = update(URL, old, fetch, links, signature, NOW, rules(schedule))

        # then
        if fetch is None and not links:
            assert result is old
            continue
        assert result is not None
        arrived = sum(link.score for link in links)
        if fetch is None:
            expect_linked(old, result, arrived)
            continue
        unchanged = outcome is FetchStatus.SUCCESS and old is not None and kind == "same"
        assert result.status is (DbStatus.NOTMODIFIED if unchanged else ENDS[fetch.status])
        assert result.score == (old or fetch).score + arrived
        assert GENERATE_MARK not in result.metadata
        assert result.metadata.get("both") == "new"
        assert result.metadata.get("kept") == (None if old is None else "old")
        assert result.extra == ({} if old is None else old.extra)
        assert result.fetch_time >= FETCHED
        if outcome in (FetchStatus.RETRY, FetchStatus.GONE, PartStatus.PARSE_FAILED):
            assert result.signature == (old.signature if old else None)
        elif result.status is DbStatus.NOTMODIFIED:
            assert result.signature == (old.signature if old else signature)
            assert result.modified_time == (old.modified_time if old else None)
        else:
            assert result.signature == signature
        assert result.retries == (1 if outcome is FetchStatus.RETRY else 0)
        if outcome is FetchStatus.RETRY:
            assert result.fetch_time == FETCHED + DAY
        elif outcome in (FetchStatus.GONE, PartStatus.PARSE_FAILED):
            assert (result.interval, result.fetch_time) == (45 * DAY, FETCHED + 45 * DAY)
        elif type(schedule) is Schedule:
            assert (result.interval, result.fetch_time) == (30 * DAY, FETCHED + 30 * DAY)


def expect_linked(old: CrawlDatum | None, result: CrawlDatum, arrived: float) -> None:
    if old is None:
        assert result.status is DbStatus.UNFETCHED
        assert (result.fetch_time, result.interval, result.retries) == (NOW, 30 * DAY, 0)
        assert result.score == arrived
        assert result.metadata == {"from": "link"}
    else:
        kept = {key: value for key, value in old.metadata.items() if key != GENERATE_MARK}
        assert result == replace(old, score=old.score + arrived, metadata=kept)


def test_adaptive_schedule_fetches_changed_page_sooner_and_unchanged_later() -> None:
    old = replace(old_record(DbStatus.FETCHED), modified_time=FETCHED)
    fetch = fetch_record(FetchStatus.SUCCESS)

    changed = update(URL, old, fetch, [], NEW_SIGNATURE, NOW, rules(AdaptiveSchedule()))
    same = update(URL, old, fetch, [], OLD_SIGNATURE, NOW, rules(AdaptiveSchedule()))

    assert changed is not None
    assert changed.interval == 24 * DAY
    assert same is not None
    assert same.interval == 42 * DAY


def test_new_facts_override_old_ones() -> None:
    old = replace(old_record(DbStatus.FETCHED), extra={"depth": 3, "kept": 1})
    fetch = replace(fetch_record(FetchStatus.GONE), modified_time=FETCHED, extra={"depth": 2})

    result = update(URL, old, fetch, [], None, NOW, rules())

    assert result is not None
    assert result.modified_time == FETCHED
    assert result.extra == {"depth": 2, "kept": 1}


def test_maximum_interval_does_not_force_a_fetch() -> None:
    fetch = replace(fetch_record(FetchStatus.SUCCESS), interval=90 * DAY)

    result = update(URL, None, fetch, [], NEW_SIGNATURE, NOW, rules())

    assert result is not None
    assert (result.status, result.interval) == (DbStatus.FETCHED, 90 * DAY)


def test_success_is_scheduled_to_the_second_by_either_schedule() -> None:
    old, fetch = old_record(DbStatus.FETCHED), fetch_record(FetchStatus.SUCCESS)
    unchanged_for = FETCHED - (BEFORE - DAY)  # 40 days and 22 hours

    changed = update(URL, old, fetch, [], NEW_SIGNATURE, NOW, rules(AdaptiveSchedule()))
    same = update(URL, old, fetch, [], OLD_SIGNATURE, NOW, rules(AdaptiveSchedule()))
    default = update(URL, old, fetch, [], NEW_SIGNATURE, NOW, rules())

    assert changed is not None
    assert (changed.fetch_time, changed.modified_time) == (FETCHED + 24 * DAY, FETCHED)
    assert same is not None
    assert same.interval == max(42 * DAY, unchanged_for)
    assert same.fetch_time == FETCHED + same.interval - timedelta(seconds=round(unchanged_for.total_seconds() * 0.3))
    assert default is not None
    assert default.modified_time == FETCHED


def test_150_rounds_of_failure_end_in_gone_without_overflow() -> None:
    # given
    record: CrawlDatum = old_record(DbStatus.UNFETCHED)
    seen = []
    moment = NOW

    # when
    for _ in range(150):
        fetch = replace(record, status=FetchStatus.RETRY, fetch_time=moment)
        result = update(URL, record, fetch, [], None, moment, rules())
        assert result is not None
        record, moment = result, result.fetch_time
        seen.append(result)

    # then
    assert [each.status for each in seen[:2]] == [DbStatus.UNFETCHED] * 2
    assert {each.status for each in seen[2:]} == {DbStatus.GONE}
    assert [each.retries for each in seen] == list(range(1, 151))
    assert all(each.interval < timedelta(days=90) for each in seen)
    assert moment < NOW + 150 * timedelta(days=90)


def test_interval_over_the_maximum_forces_an_unconditional_fetch() -> None:
    fetch = replace(fetch_record(FetchStatus.SUCCESS), interval=100 * DAY)

    result = update(URL, old_record(DbStatus.FETCHED), fetch, [], NEW_SIGNATURE, NOW, rules())

    assert result is not None
    assert result.status is DbStatus.UNFETCHED
    assert (result.signature, result.modified_time, result.retries) == (None, None, 0)
    assert result.interval == 81 * DAY


def test_without_additions_only_known_urls_are_updated() -> None:
    closed = rules(additions=False)

    assert update(URL, None, None, [linked(1.0)], None, NOW, closed) is None
    assert update(URL, None, fetch_record(FetchStatus.SUCCESS), [], None, NOW, closed) is None
    assert update(URL, old_record(DbStatus.FETCHED), None, [linked(1.0)], None, NOW, closed) is not None


def test_only_the_best_inlinks_count() -> None:
    links = [linked(1.0), linked(8.0), linked(2.0), linked(4.0)]

    result = update(URL, None, None, links, None, NOW, rules(max_inlinks=2))

    assert result is not None
    assert result.score == 12.0
    assert [link.score for link in best_links(links, 3)] == [8.0, 4.0, 2.0]


def test_url_without_outcome_or_inlink_gets_the_orphaned_hook() -> None:
    scoring = AddingUp()
    old = old_record(DbStatus.FETCHED)

    result = update(URL, old, None, [], None, NOW, UpdateRules(schedule=Schedule(), scoring=scoring))

    assert result == old
    assert scoring.orphans == [old]
    assert update(URL, None, None, [], None, NOW, rules()) is None


def test_signature_of_the_parse_overrides_that_of_the_fetch() -> None:
    fetch = fetch_record(FetchStatus.SUCCESS, signature=OLD_SIGNATURE)

    by_fetch = update(URL, old_record(DbStatus.FETCHED), fetch, [], None, NOW, rules())
    by_parse = update(URL, old_record(DbStatus.FETCHED), fetch, [], NEW_SIGNATURE, NOW, rules())

    assert by_fetch is not None
    assert by_fetch.status is DbStatus.NOTMODIFIED
    assert by_parse is not None
    assert (by_parse.status, by_parse.signature) == (DbStatus.FETCHED, NEW_SIGNATURE)


def test_parse_metadata_is_added_only_on_success() -> None:
    for status in FetchStatus:
        result = update(URL, None, fetch_record(status), [], None, NOW, rules(), parsed={"lang": "en"})

        assert result is not None
        assert ("lang" in result.metadata) is (status is FetchStatus.SUCCESS)


@pytest.mark.parametrize(
    "status", [*DbStatus, PartStatus.SIGNATURE, PartStatus.INJECTED, PartStatus.PARSE_META], ids=str
)
def test_record_that_is_no_outcome_changes_nothing(status: Status) -> None:
    old = old_record(DbStatus.FETCHED)

    assert update(URL, old, fetch_record(status), [], NEW_SIGNATURE, NOW, rules()) == old
    assert update(URL, None, fetch_record(status), [], NEW_SIGNATURE, NOW, rules()) is None
    by_link = update(URL, None, fetch_record(status), [linked(0.5)], NEW_SIGNATURE, NOW, rules())
    assert by_link == update(URL, None, None, [linked(0.5)], NEW_SIGNATURE, NOW, rules())


def test_newest_of_several_outcomes_wins() -> None:
    early, late = fetch_record(FetchStatus.RETRY), replace(fetch_record(FetchStatus.SUCCESS), fetch_time=NOW)

    assert newest([late, early]) is late
    assert newest([]) is None
