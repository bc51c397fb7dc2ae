"""The client's own records are those of the service; they stand apart since neither may import the other."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from msgspec import Struct

from scoter import api
from scoter.client import calls, records
from scoter.core.extract import LONGEST
from scoter.web import problems, streams
from scoter.web import records as served
from scoter.web.handlers import keys
from scoter.web.keys import Scope

PAIRS: list[tuple[type[Struct], type[Struct]]] = [
    (records.Problem, problems.Problem),
    (records.Submission, served.Submission),
    (records.UnusableUrl, served.UnusableUrl),
    (records.Receipt, served.Receipt),
    (records.Missing, served.Missing),
    (records.FetchHop, served.FetchHop),
    (records.FetchAnswer, served.FetchAnswer),
    (records.DomainRule, api.DomainRule),
    (records.ApiKey, keys.KeyShown),
    (records.NewKey, keys.KeyMade),
    (records.StageTimes, served.StageTimes),
    (records.Statistics, served.Statistics),
    (records.Gap, streams.Gap),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=[ours.__name__ for ours, _ in PAIRS])
def test_a_record_has_the_fields_that_the_service_gives_it(ours: type[Struct], theirs: type[Struct]) -> None:
    assert [field.encode_name for field in msgspec.structs.fields(ours)] == [
        field.encode_name for field in msgspec.structs.fields(theirs)
    ]


def test_words_and_limits_are_those_of_the_service() -> None:
    assert {each.value for each in records.Outcome} == {each.value for each in served.Outcome}
    assert {each.value for each in records.Absence} == {each.value for each in served.Absence}
    assert set(get_args(records.Urgency)) == set(served.Urgency)
    assert set(get_args(records.BodyForm)) == set(served.BodyForm)
    assert set(get_args(records.KeyScope)) == {scope.value for scope in Scope if scope}
    assert calls.MOST_URLS == served.MOST_URLS
    assert calls.LONGEST_URL == LONGEST
    assert calls._LONGEST_WAIT == served.MOST_WAIT
