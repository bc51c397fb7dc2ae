"""Every page of the tables has exactly the expected metadata."""

from __future__ import annotations

import pytest
from tests.parse.metadata import pages_body, pages_conflicts, pages_schema, pages_tags
from tests.parse.metadata.expectation import Case, as_expected_fields, read

CASES = (*pages_tags.CASES, *pages_schema.CASES, *pages_body.CASES, *pages_conflicts.CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_metadata_and_sources_are_as_expected(case: Case) -> None:
    found = read(case.page, case.order, case.header_language)

    assert as_expected_fields(found) == case.expected


def test_cases_are_many_and_have_unique_names() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60
