"""Keys of whole columns of hosts."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from scoter.batch.urls.domains import host_keys
from scoter.core.domain import reversed_host

HOSTS = st.one_of(
    st.sampled_from(
        ("", "org", "127.0.0.1", "[::1]", "a.org.", "a..org", ".", "xn--3e0b707e", "bücher.example", "a.b1")
    ),
    st.text("ab1.-:[]é", max_size=12),
)


@given(hosts=st.lists(HOSTS), skipped=st.integers(0, 2))
def test_keys_of_a_column_are_those_of_its_hosts(hosts: list[str], skipped: int) -> None:
    column = pa.array(hosts, pa.utf8()).slice(skipped)

    assert host_keys(column).to_pylist() == [reversed_host(each) for each in hosts[skipped:]]
