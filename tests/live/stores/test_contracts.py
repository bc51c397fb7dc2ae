"""Runs the contract of every store against the in-memory and the SQLite implementation.

``tests/live/kafka/test_contracts.py`` and ``test_stores.py`` run the contracts of the ports against a cluster.
"""

from __future__ import annotations

import pytest
from tests.live.stores.contract_access import HoldsContract, KeysContract, RulesContract
from tests.live.stores.contract_announcing import DeliveriesContract, PrunedEventsContract, SweepContract
from tests.live.stores.contract_journal import JournalContract, LedgerContract
from tests.live.stores.contract_metadata import MetadataContract
from tests.live.stores.fakes import Stores

from scoter.live.ports import MetadataStore


class TestJournal(JournalContract):
    """In memory and in SQLite."""


class TestLedger(LedgerContract):
    """In memory and in SQLite."""


class TestEvents(PrunedEventsContract):
    """In memory and in SQLite."""


class TestDeliveries(DeliveriesContract):
    """In memory and in SQLite."""


class TestSweep(SweepContract):
    """In memory and in SQLite."""


class TestRules(RulesContract):
    """In memory and in SQLite."""


class TestHolds(HoldsContract):
    """In memory and in SQLite."""


class TestKeys(KeysContract):
    """In memory and in SQLite."""


class TestMetadata(MetadataContract):
    """In memory and in SQLite."""

    @pytest.fixture
    def metadata(self, stores: Stores) -> MetadataStore:
        return stores.metadata
