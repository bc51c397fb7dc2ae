"""Every page of the tables says what the truth beside it says, and nothing else."""

from __future__ import annotations

import pytest
from tests.parse.metadata import pages_body, pages_conflicts, pages_schema, pages_tags
from tests.parse.metadata.truth import Case, read, told

CASES = (*pages_tags.CASES, *pages_schema.CASES, *pages_body.CASES, *pages_conflicts.CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_page_says_what_is_true_of_it_and_from_where(case: Case) -> None:
    found = read(case.page, case.order, case.header_language)

    assert told(found) == case.truth


def test_there_are_enough_pages_and_each_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60
