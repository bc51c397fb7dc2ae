from __future__ import annotations

from datetime import timedelta

from scoter.core.datum import EPOCH, DbStatus, FetchStatus, PartStatus, later, short_name

NUTCH = {
    0x01: "db_unfetched",
    0x02: "db_fetched",
    0x03: "db_gone",
    0x04: "db_redir_temp",
    0x05: "db_redir_perm",
    0x06: "db_notmodified",
    0x07: "db_duplicate",
    0x08: "db_orphan",
    0x09: "db_parse_failed",
    0x21: "fetch_success",
    0x22: "fetch_retry",
    0x23: "fetch_redir_temp",
    0x24: "fetch_redir_perm",
    0x25: "fetch_gone",
    0x26: "fetch_notmodified",
    0x41: "signature",
    0x42: "injected",
    0x43: "linked",
    0x44: "parse_meta",
    0x45: "parse_failed",
}


def test_every_status_has_nutchs_code_and_name() -> None:
    names = {status.value: f"db_{short_name(status)}" for status in DbStatus}
    names |= {status.value: f"fetch_{short_name(status)}" for status in FetchStatus}
    names |= {status.value: short_name(status) for status in PartStatus}

    assert names == NUTCH


def test_time_does_not_overflow() -> None:
    assert later(EPOCH, timedelta.max).year == 9999
    assert later(EPOCH, timedelta.min).year == 1
    assert later(EPOCH, timedelta(days=1)) - EPOCH == timedelta(days=1)
