"""S3, and servers that speak its protocol: one request per operation, retried by the library.

Credentials, region, profile and endpoint come from botocore's standard chain (``AWS_ACCESS_KEY_ID``, ``AWS_PROFILE``,
``AWS_ENDPOINT_URL``, instance roles). A conditional write that is retried may fail because its first attempt succeeded
without a response; so a conflict counts only if the object has another content than ours.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from scoter.errors import ScoterError, StoreConflict, UsageError, UserError
from scoter.extras import install_command
from scoter.store.objects.client import ABSENT, LEASE_SECONDS, StoredObject

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 30.0
ATTEMPTS = 8
"""How often the library tries a request, with exponential back-off of up to 20 seconds."""
_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
_CHANGED = frozenset({"412", "PreconditionFailed"})
_EMPTY = frozenset({"416", "InvalidRange"})
_BUSY = frozenset({"409", "ConditionalRequestConflict"})
_CREDENTIALS = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
_MAY_NOT = "Check the credentials, and that they allow to list, read, write and remove objects there."
_CANNOT = (
    "The store may lack conditional writes (If-None-Match, If-Match), which locks need: see docs/object-stores.md."
)
_HINTS = {
    **dict.fromkeys(("401", "403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch"), _MAY_NOT),
    **dict.fromkeys(("501", "NotImplemented"), _CANNOT),
}
_MOST_KEYS = 1_000
_CHUNK = 2**20
_DOWNLOADS = 5


class S3Client:
    """A bucket."""

    has_conditions = True
    lease_seconds = LEASE_SECONDS

    def __init__(self, bucket: str, options: Mapping[str, Any]) -> None:
        """``options`` are those of s3fs: key, secret, endpoint_url and client_kwargs."""
        if not bucket:
            raise UsageError("the URL names no bucket", where="s3://", hint="For example: s3://bucket/mycrawl")
        self._bucket = bucket
        self._options = dict(options)
        self._made: tuple[int, Any] | None = None

    def __repr__(self) -> str:
        return f"S3Client(s3://{self._bucket})"

    def url(self, key: str) -> str:
        return f"s3://{self._bucket}/{key}".rstrip("/")

    @property
    def filesystem(self) -> Any:
        import pyarrow.fs as arrow_fs

        from scoter.store.objects.query_files import QueryFiles

        return arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(QueryFiles(self)))

    def arrow_path(self, key: str) -> str:
        return f"{self._bucket}/{key}".rstrip("/")

    def get(self, key: str) -> StoredObject | None:
        found = self._read(key)
        return None if found is None else StoredObject(found[0], _version(found[1]), _age(found[1]))

    def end(self, key: str, most: int) -> tuple[bytes, int] | None:
        found = self._read(key, Range=f"bytes=-{most}")
        if found is None:
            return None
        data, answer = found
        # "bytes 5-9/10"; a server that does not know ranges sends the whole object.
        size = int(str(answer.get("ContentRange") or f"/{len(data)}").rpartition("/")[2])
        return data, size

    def range(self, key: str, start: int, until: int) -> bytes:
        found = self._read(key, Range=f"bytes={start}-{until - 1}")
        if found is None:
            raise UserError("cannot read the object: it was removed", where=self.url(key))
        data, answer = found
        return data if answer.get("ContentRange") else data[start:until]

    def _read(self, key: str, **given: str) -> tuple[bytes, Any] | None:
        """Return the content of an object, or of a part of it, and what the server said about it."""
        with self._errors("read the object", key):
            for attempt in itertools.count(1):
                try:
                    found = self._found(self._client.get_object, Key=key, **given)
                except self._failure as failure:
                    if _code(failure) in _EMPTY:  # S3 has no part of an empty object, not even its end
                        return b"", {}
                    raise
                if found is None:
                    return None
                try:
                    with closing(found["Body"]) as body:
                        return body.read(), found
                except Exception:  # the connection was closed before the end
                    if attempt == _DOWNLOADS:
                        raise
        return None

    def put(self, key: str, data: bytes, replaces: str | None = None) -> str:
        condition = {} if replaces is None else {"IfNoneMatch": "*"} if replaces == ABSENT else {"IfMatch": replaces}
        with self._errors("write the object", key):
            code = ""
            for attempt in range(ATTEMPTS):
                try:
                    return _version(self._client.put_object(Bucket=self._bucket, Key=key, Body=data, **condition))
                except self._failure as failure:
                    code = _code(failure)
                    if code not in _BUSY:
                        if code not in _CHANGED and not (code in _MISSING and condition):
                            raise
                        break
                    time.sleep(0.05 * 2**attempt)  # another conditional write is in progress
            found = self.get(key)
            if found is not None and found.data == data:
                return found.version
            raise self._conflict(key)

    def size(self, key: str) -> int | None:
        with self._errors("look up the object", key):
            found = self._found(self._client.head_object, Key=key)
        return None if found is None else int(found["ContentLength"])

    def upload(self, key: str, file: Path) -> None:
        with self._errors("upload the file", key):
            try:
                with file.open("rb") as body:
                    self._client.put_object(Bucket=self._bucket, Key=key, Body=body, IfNoneMatch="*")
                    return
            except Exception as failure:
                # An earlier attempt may have succeeded; a server may then close the connection instead of saying so.
                if self._is_same(key, file):
                    return
                if _code(failure) in _CHANGED | _BUSY:
                    raise self._conflict(key) from failure
                raise

    def download(self, key: str, file: Path) -> bool:
        with self._errors("download the object", key):
            for attempt in range(1, _DOWNLOADS + 1):
                found = self._found(self._client.get_object, Key=key)
                if found is None:
                    return False
                try:
                    with closing(found["Body"]) as body, file.open("wb") as target:
                        shutil.copyfileobj(body, target, _CHUNK)
                        if target.tell() == found["ContentLength"]:
                            return True
                except Exception:  # the connection was closed before the end
                    if attempt == _DOWNLOADS:
                        raise
            raise OSError("the connection was closed before the end of the object")

    def open(self, key: str) -> BinaryIO | None:
        from scoter.store.objects.query_files import END, ObjectReader

        found = self.end(key, END)
        return None if found is None else cast(BinaryIO, ObjectReader(self, key, *found))

    def entries(self, folder: str) -> dict[str, int | None]:
        prefix = f"{folder}/" if folder else ""
        found: dict[str, int | None] = {}
        for page in self._pages(prefix, Delimiter="/"):
            for each in page.get("CommonPrefixes", ()):
                found[each["Prefix"].removeprefix(prefix).rstrip("/")] = None
            for each in page.get("Contents", ()):
                if name := each["Key"].removeprefix(prefix):
                    found[name] = int(each["Size"])
        return found

    def tree(self, folder: str) -> dict[str, int]:
        pages = self._pages(f"{folder}/" if folder else "")
        return {each["Key"]: int(each["Size"]) for page in pages for each in page.get("Contents", ())}

    def delete(self, keys: Iterable[str]) -> None:
        left = iter(keys)
        while some := tuple(islice(left, _MOST_KEYS)):
            with self._errors("remove the object", some[0]):
                if len(some) == 1:
                    self._client.delete_object(Bucket=self._bucket, Key=some[0])
                    continue
                wanted = {"Objects": [{"Key": key} for key in some], "Quiet": True}
                done = self._client.delete_objects(Bucket=self._bucket, Delete=wanted)
                for failed in done.get("Errors", ()):
                    raise OSError(f"{failed.get('Code')}: {failed.get('Key')}")

    @property
    def _client(self) -> Any:
        """The library's client, made again in a forked process."""
        if self._made is None or self._made[0] != os.getpid():
            from botocore.config import Config
            from botocore.session import get_session

            given = self._options
            config = Config(
                connect_timeout=CONNECT_TIMEOUT,
                read_timeout=READ_TIMEOUT,
                retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
                # Not every server that speaks S3 knows the newer checksums.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            )
            wanted = {
                "aws_access_key_id": given.get("key"),
                "aws_secret_access_key": given.get("secret"),
                "endpoint_url": given.get("endpoint_url"),
                **given.get("client_kwargs", {}),
            }
            session = get_session()
            if session.get_config_variable("region") is None:
                wanted.setdefault("region_name", "us-east-1")
            self._made = os.getpid(), session.create_client("s3", config=config, **wanted)
        return self._made[1]

    @property
    def _failure(self) -> type[Exception]:
        from botocore.exceptions import ClientError

        return cast("type[Exception]", ClientError)

    def _found(self, call: Any, **arguments: Any) -> Any | None:
        try:
            return call(Bucket=self._bucket, **arguments)
        except self._failure as failure:
            if _code(failure) in _MISSING:
                return None
            raise

    def _pages(self, prefix: str, **arguments: Any) -> Iterator[Any]:
        with self._errors("list the folder", prefix):
            try:
                pages = self._client.get_paginator("list_objects_v2")
                size = {"PageSize": _MOST_KEYS}
                yield from pages.paginate(Bucket=self._bucket, Prefix=prefix, PaginationConfig=size, **arguments)
            except self._failure as failure:
                if _code(failure) != "NoSuchBucket":
                    raise
                hint = "Create it first; Scoter creates no buckets."
                raise UsageError("there is no such bucket", where=f"s3://{self._bucket}", hint=hint) from None

    def _is_same(self, key: str, file: Path) -> bool:
        """Return whether an object has the content of a file, because an earlier attempt to upload it succeeded."""
        found = self._found(self._client.head_object, Key=key)
        if found is None or int(found["ContentLength"]) != file.stat().st_size:
            return False
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        return _version(found).strip('"') == digest

    def _conflict(self, key: str) -> StoreConflict:
        hint = "Nothing was changed there. Wait until the other command is done, and run this one again."
        return StoreConflict("another process has changed it", where=self.url(key), hint=hint)

    @contextmanager
    def _errors(self, doing: str, key: str) -> Iterator[None]:
        """Raise any failure of the store or its library as a message that says what could not be done."""
        where = self.url(key)
        try:
            yield
        except ScoterError:
            raise
        except ImportError as failure:
            hint = f"Install it: {install_command('s3')}"
            raise UsageError(f"the package {failure.name} is not installed", where=where, hint=hint) from failure
        except Exception as failure:
            code = _code(failure)
            if code == "NoSuchBucket":
                hint = "Create it first; Scoter creates no buckets."
                raise UsageError("there is no such bucket", where=f"s3://{self._bucket}", hint=hint) from None
            if type(failure).__name__ in ("NoCredentialsError", "PartialCredentialsError"):
                raise UserError(
                    f"cannot {doing}: there are no credentials", where=where, hint=_CREDENTIALS
                ) from failure
            text = str(failure) or type(failure).__name__
            raise UserError(f"cannot {doing}: {text}", where=where, hint=_HINTS.get(code, "")) from failure


def _code(failure: Exception) -> str:
    answer = getattr(failure, "response", None) or {}
    code = str(answer.get("Error", {}).get("Code", ""))
    return code or str(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", ""))


def _version(answer: Mapping[str, Any]) -> str:
    return str(answer["ETag"])


def _age(answer: Mapping[str, Any]) -> float | None:
    """Return how long ago an object was written, by the server's clock alone."""
    sent = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    written = answer.get("LastModified")
    if not sent or not isinstance(written, datetime):
        return None
    try:
        return (parsedate_to_datetime(sent).astimezone(UTC) - written).total_seconds()
    except ValueError:
        return None
