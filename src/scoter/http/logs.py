"""The logs of servers: lines of text or of JSON, and what a line is about."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

import msgspec

from scoter.secrets import without_userinfo

_TEXT: Final = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
_FIELDS: Final = ("message_id", "url", "domain")
_NOTHING: Final[Mapping[str, str]] = {}
_about: ContextVar[Mapping[str, str]] = ContextVar("about", default=_NOTHING)


@contextmanager
def logging_about(*, message_id: str = "", url: str = "", domain: str = "") -> Iterator[None]:
    """Say what the log lines of this task, and of the tasks that it starts, are about."""
    fields = {"message_id": message_id, "url": url, "domain": domain}
    token = _about.set({**_about.get(), **{name: value for name, value in fields.items() if value}})
    try:
        yield
    finally:
        _about.reset(token)


class JsonLines(logging.Formatter):
    """Formats a record as a JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; ``message_id``, ``url`` and ``domain`` may also be given as ``extra`` of the call."""
        about = {**_about.get(), **{name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}}
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "process": record.process,
            "logger": record.name,
            "message": record.getMessage(),
            **{name: without_userinfo(str(about[name])) for name in _FIELDS if about.get(name)},
        }
        if record.exc_info:
            line["error"] = without_userinfo(self.formatException(record.exc_info))
        return msgspec.json.encode(line).decode()


def _mask_passwords(record: logging.LogRecord) -> bool:
    """Mask user names and passwords of URLs in a log record."""
    text = record.getMessage()
    if (shown := without_userinfo(text)) != text:
        record.msg, record.args = shown, ()
    return True


def configure_logging(level: str, form: str = "text") -> None:
    """Log to stderr, one line per event, as ``text`` or ``json``."""
    logging.basicConfig(level=level, format=_TEXT)
    for handler in logging.getLogger().handlers:
        if form == "json":
            handler.setFormatter(JsonLines())
        handler.addFilter(_mask_passwords)
    for library in ("uvicorn", "botocore"):
        logging.getLogger(library).setLevel(max(logging.WARNING, logging.getLevelName(level)))
