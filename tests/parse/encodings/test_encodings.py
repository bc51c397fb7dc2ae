"""Every encoding of the web is decoded, with correct, wrong and missing declarations."""

from __future__ import annotations

import pytest
from tests.parse.encodings.cases import ALL, DECLARED, UNDECLARED, UNICODE, WRONG, Case

from scoter.parse.encoding import decode_page

GROUPS = [
    pytest.param(case, id=f"{group}: {case.name}")
    for group, cases in (("declared", DECLARED), ("unicode", UNICODE), ("undeclared", UNDECLARED), ("wrong", WRONG))
    for case in cases
]


@pytest.mark.parametrize("case", GROUPS)
def test_page_is_decoded_in_its_encoding(case: Case) -> None:
    found = decode_page(case.body, case.http)

    assert (found.encoding, found.why) == (case.encoding, case.why)
    assert case.words in found.utf8.decode()


@pytest.mark.parametrize("case", GROUPS)
def test_replaced_characters_are_counted(case: Case) -> None:
    found = decode_page(case.body, case.http)

    assert found.replaced == found.utf8.decode().count("\ufffd")


def test_cases_are_many_and_have_unique_names() -> None:
    assert len(ALL) > 40
    assert len({case.body for case in ALL}) > 40
