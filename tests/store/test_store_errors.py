"""What is said when the library of a store cannot be loaded."""

from __future__ import annotations

import pytest

from scoter.errors import UsageError, UserError
from scoter.store.objects.fsspec_client import store_errors


@pytest.mark.parametrize(("url", "package"), [("gs://bucket/crawl", "gcsfs"), ("abfs://container/crawl", "adlfs")])
def test_missing_package_is_named(url: str, package: str) -> None:
    with pytest.raises(UsageError) as caught, store_errors("reach the store", url):
        raise ImportError("no such module")

    assert caught.value.hint == f"Install it: pip install {package}"


def test_hadoop_without_its_client_says_what_it_needs() -> None:
    with pytest.raises(UserError) as caught, store_errors("reach the store", "hdfs://localhost:9000/crawl"):
        raise OSError("Prior attempt to load libhdfs failed")

    assert "hadoop classpath --glob" in caught.value.hint
