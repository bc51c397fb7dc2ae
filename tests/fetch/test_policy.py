"""Policies from the configuration: the default and overrides."""

from __future__ import annotations

from datetime import timedelta

import pytest

from scoter.config import load
from scoter.core.url import canonical
from scoter.errors import ConfigError
from scoter.fetch.queues.policy import Policies, Policy, policies_of


def policies(*entries: str, **settings: str) -> Policies:
    flags = [f"fetch.{name}={value}" for name, value in settings.items()]
    listed = ", ".join(f'"{entry}"' for entry in entries)
    return policies_of(load(overrides=[*flags, f"fetch.hosts=[{listed}]"]).fetch)


def test_the_default_policy_is_that_of_the_settings() -> None:
    found = policies(delay="2s", min_delay="1s", threads_per_queue="3", max_exceptions_per_queue="off")

    assert found("example.org") == Policy(
        delay=timedelta(seconds=2),
        min_delay=timedelta(seconds=1),
        threads=3,
        min_crawl_delay=timedelta(seconds=2),
        exception_delay=timedelta(seconds=2),
        max_exceptions=None,
    )


def test_policy_without_settings_is_the_default() -> None:
    assert policies()("example.org") == Policy()


def test_override_covers_subdomains_and_longest_name_wins() -> None:
    found = policies("example.org delay=10s", "slow.example.org delay=20s", "org threads=2")

    delays = {name: found(name).delay.seconds for name in ("example.org", "www.example.org", "a.slow.example.org")}
    assert delays == {"example.org": 10, "www.example.org": 10, "a.slow.example.org": 20}
    assert (found("other.org").threads, found("other.org").delay.seconds) == (2, 5)
    assert found("myexample.org").delay.seconds == 5
    assert found("example.com") == Policy()


def test_override_changes_only_named_options() -> None:
    found = policies("Example.org. delay=0s threads=4 max_exceptions=off", delay="3s")("example.org")

    assert (found.delay, found.threads, found.max_exceptions) == (timedelta(0), 4, None)
    assert found.min_crawl_delay == timedelta(0)
    assert found.exception_delay == timedelta(seconds=3)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("example.org dealy=1s", "dealy is not an option of a host; did you mean delay?"),
        ("example.org colour=red", "known: delay, min_delay, threads, max_exceptions"),
        ("example.org delay=1parsec", 'delay=1parsec has the unknown unit "parsec"'),
        ("example.org threads=0", "threads=0 is not a whole number from 1 to 1000"),
        ("*.example.org delay=1s", ": *.example.org is not a host name"),
        ("https://example.org/ delay=1s", ": https://example.org/ is not a host name"),
        ("example.org:8080 delay=1s", ": example.org:8080 is not a host name"),
        (". delay=1s", ": . is not a host name"),
        ("example.org threads=two", "threads=two is not a whole number from 1 to 1000"),
    ],
)
def test_invalid_entry_is_reported_with_the_accepted_form(entry: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        policies(entry)

    assert message in caught.value.message
    assert str(caught.value).startswith("fetch.hosts: ")
    assert "example.org delay=10s threads=2" in caught.value.hint


@pytest.mark.parametrize("name", ["Bücher.example", "xn--bcher-kva.example", ".bücher.example."])
def test_host_is_recognised_in_any_spelling(name: str) -> None:
    found = policies(f"{name} delay=9s")

    assert found(canonical("http://www.bücher.example/").host).delay == timedelta(seconds=9)


def test_an_entry_without_a_change_is_refused_when_the_configuration_is_read() -> None:
    with pytest.raises(ConfigError, match=r"fetch\.hosts"):
        policies("example.org")


def test_a_host_is_named_once() -> None:
    with pytest.raises(ConfigError, match="twice"):
        policies("example.org delay=1s", "EXAMPLE.org threads=2")
