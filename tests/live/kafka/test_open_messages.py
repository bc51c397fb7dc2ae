"""What an api process of a cluster has accepted and not seen finished, by tenant."""

from __future__ import annotations

from tests.live.stores.fakes import message

from scoter.live.kafka.intake import OpenMessages, _repeated
from scoter.live.ports import Accepted
from scoter.live.tenants import scoped_id


def test_urls_are_counted_by_tenant_until_they_are_finished() -> None:
    urls, own, other = OpenMessages(), scoped_id("acme", "m"), "m"
    urls.add([own, own, other])
    assert [urls.of_tenant(name) for name in ("acme", "", "zeta")] == [2, 1, 0]

    for name in (own, other, other, scoped_id("zeta", "m")):  # announced twice, and accepted by another process
        urls.finished(name)

    assert [urls.of_tenant(name) for name in ("acme", "", "zeta")] == [1, 0, 0]


def test_the_number_of_counted_messages_is_limited() -> None:
    urls = OpenMessages(most=2)

    urls.add([scoped_id("acme", "1"), scoped_id("acme", "1"), scoped_id("zeta", "2"), "3"])

    assert [urls.of_tenant(name) for name in ("acme", "zeta", "")] == [0, 1, 1]


def test_id_repeated_within_a_call_conflicts_if_the_content_differs() -> None:
    first, accepted = message("m", digest=b"one"), Accepted(message="m", entries={"http://a.example/": 7})

    same = _repeated(message("m", digest=b"one"), first, accepted)
    other = _repeated(message("m", digest=b"two"), first, accepted)

    assert (same.is_new, same.is_conflict, same.entries) == (False, False, accepted.entries)
    assert (other.is_new, other.is_conflict, dict(other.entries)) == (False, True, {})
