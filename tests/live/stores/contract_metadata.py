"""The contract of metadata stores. Subclasses provide a fixture ``metadata``, which uses ``time``."""

from __future__ import annotations

from datetime import timedelta

from tests.live.stores.fakes import START, Time, stored, url_of

from scoter.live.ports import MetadataStore


class MetadataContract:
    async def test_record_is_found_under_its_url_only(self, metadata: MetadataStore) -> None:
        row = stored("a", value='{"title":"Ä"}'.encode())

        await metadata.put([row])

        assert await metadata.get(url_of("a")) == row
        assert await metadata.get(url_of("a") + "b") is None

    async def test_last_put_wins(self, metadata: MetadataStore) -> None:
        await metadata.put([stored("a", value=b"1"), stored("a", value=b"2", lives=10)])
        assert await metadata.get(url_of("a")) == stored("a", value=b"2", lives=10)

        await metadata.put([stored("a", value=b"3")])
        assert await metadata.get(url_of("a")) == stored("a", value=b"3")

    async def test_times_are_stored_to_the_microsecond(self, metadata: MetadataStore) -> None:
        row = stored("a", at=START + timedelta(microseconds=123_457), lives=0.654_321)

        await metadata.put([row])

        assert await metadata.get(url_of("a")) == row

    async def test_expired_record_is_not_returned(self, metadata: MetadataStore, time: Time) -> None:
        await metadata.put([stored("long", lives=60), stored("short", lives=10)])

        time.passes(10)
        assert await metadata.get(url_of("short")) is None
        assert set(await metadata.values([url_of("long"), url_of("short")])) == {url_of("long")}

        time.passes(50)
        assert await metadata.get(url_of("long")) is None

    async def test_expired_record_is_kept_while_it_may_be_stale(self, metadata: MetadataStore, time: Time) -> None:
        row = stored("a", lives=10, stale=20)
        await metadata.put([row, stored("b", lives=10)])
        assert await metadata.last(url_of("a")) == await metadata.get(url_of("a")) == row

        time.passes(10)
        assert await metadata.expire(10) == 1
        assert (await metadata.get(url_of("a")), await metadata.values([url_of("a")])) == (None, {})
        assert (await metadata.last(url_of("a")), await metadata.last(url_of("b"))) == (row, None)

        time.passes(20)
        assert await metadata.last(url_of("a")) is None
        assert await metadata.expire(10) == 1

    async def test_expire_removes_a_bounded_number_of_records(self, metadata: MetadataStore, time: Time) -> None:
        await metadata.put([stored(f"n{n}", lives=n + 1) for n in range(10)])
        time.passes(7)

        assert [await metadata.expire(5) for _ in range(3)] == [5, 2, 0]
        assert await metadata.get(url_of("n7")) is not None
        await metadata.put([stored("n0", at=time.now)])
        assert await metadata.get(url_of("n0")) is not None

    async def test_older_record_replaces_only_a_record_from_the_future(
        self, metadata: MetadataStore, time: Time
    ) -> None:
        early = time.now
        time.passes(10)
        late = time.now
        await metadata.put([stored("a", value=b"late", at=late)])
        await metadata.put([stored("a", value=b"early", at=early)])
        assert await metadata.get(url_of("a")) == stored("a", value=b"late", at=late)

        time.now -= timedelta(seconds=5)  # set back
        await metadata.put([stored("a", value=b"early", at=early)])
        assert await metadata.get(url_of("a")) == stored("a", value=b"early", at=early)

    async def test_values_omit_unknown_urls(self, metadata: MetadataStore) -> None:
        await metadata.put([stored(f"n{n}", value=b"%d" % n) for n in range(290)])

        for size in (0, 1, 49, 50, 51, 100, 290):
            asked = [url_of(f"n{n}") for n in range(size)]
            found = await metadata.values([*asked, url_of("unknown"), *asked[:5]])
            assert found == {url_of(f"n{n}"): b"%d" % n for n in range(size)}
