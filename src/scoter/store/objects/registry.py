"""The clients of the stores that this process uses, one per bucket or root."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from scoter.errors import UsageError
from scoter.store.objects.client import ObjectClient

_clients: dict[tuple[str, str, str], ObjectClient] = {}


def client_of(url: str, options: Mapping[str, Any] | None = None) -> tuple[ObjectClient, str]:
    """Return the client for a URL, and the key that the URL names; ``options`` are passed to fsspec."""
    parts = urlsplit(url)
    if "@" in parts.netloc and parts.scheme in ("s3", "s3a", "gs"):
        raise UsageError(
            "credentials must not be part of a URL",
            where=f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}",
            hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.",
        )
    is_s3 = parts.scheme in ("s3", "s3a")
    place = parts.netloc if is_s3 else ""
    known = _clients.get(name := (parts.scheme, place, repr(sorted((options or {}).items()))))
    if is_s3:
        if known is None:
            from scoter.store.objects.s3 import S3Client

            known = _clients[name] = S3Client(parts.netloc, options or {})
        return known, parts.path.strip("/")
    # fsspec is slow to import, and most crawls are local.
    from scoter.store.objects.fsspec_client import FsspecClient

    if known is None:
        known = _clients[name] = FsspecClient(url, options or {})
    return known, FsspecClient.key_of(known, url)
