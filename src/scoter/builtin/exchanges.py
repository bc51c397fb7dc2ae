"""The built-in exchange: it chooses the index writers of a document by one of its fields."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from msgspec import Struct

from scoter.config import Setting
from scoter.core.document import Document
from scoter.plugins import Setup


class FieldExchangeSettings(Struct, frozen=True):
    """Which field names the writers."""

    field: Annotated[str, Setting("Field whose values are the names of index writers.", example='"lang"')] = (
        "subcollection"
    )


class FieldExchange:
    """Sends a document to the index writers that the values of a field name, such as a writer for each language."""

    Settings = FieldExchangeSettings

    def __init__(self, setup: Setup) -> None:
        settings: FieldExchangeSettings = setup.settings or FieldExchangeSettings()
        self._field = settings.field

    def writers(self, document: Document) -> Collection[str]:
        return [str(value) for value in document.fields.get(self._field, ())]
