from __future__ import annotations

import pytest
from tests.parse.filters.pages import content, page, setup

from scoter.core.page import Heading
from scoter.errors import ConfigError
from scoter.parse.filters.page_fields import MOST_NAMES, HeadingsFilter, MetatagsFilter

HEADINGS = (
    Heading(2, "Before all"),
    Heading(1, " "),
    Heading(1, "Grey\n  seals"),
    Heading(2, "Where they live"),
    Heading(3, "Sandbanks"),
    Heading(1, "Walruses"),
)
METAS = {"description": ("All about seals.",), "keywords": ("seals", "walruses", "seals"), "generator": ("Hand",)}


def test_the_first_heading_of_each_level_with_words_in_it_is_kept() -> None:
    found = HeadingsFilter(setup()).refine(content(), page(headings=HEADINGS))

    assert found.metadata == {"h1": "Grey seals", "h2": "Before all"}


def test_every_heading_is_kept_when_several_are_wanted() -> None:
    wanted = setup("parse.headings=H1,h3", "parse.headings_multivalued=true")

    found = HeadingsFilter(wanted).refine(content(), page(headings=HEADINGS))

    assert found.metadata == {"h1": "Grey seals\tWalruses", "h3": "Sandbanks"}


def test_unknown_heading_level_is_rejected() -> None:
    with pytest.raises(ConfigError) as caught:
        HeadingsFilter(setup("parse.headings=h1,title"))

    assert str(caught.value) == "parse.headings: 'title' is not a heading level\nUse h1, h2, h3, h4, h5 or h6."


def test_the_meta_elements_that_are_wanted_are_kept_with_all_their_values() -> None:
    found = MetatagsFilter(setup()).refine(content(), page(metas=METAS))

    assert found.metadata == {"metatag.description": "All about seals.", "metatag.keywords": "seals\twalruses"}


def test_names_of_meta_elements_are_compared_without_regard_to_case() -> None:
    found = MetatagsFilter(setup("parse.metatags_names=Generator")).refine(content(), page(metas=METAS))

    assert found.metadata == {"metatag.generator": "Hand"}


def test_star_selects_all_meta_elements_up_to_a_limit() -> None:
    everything = MetatagsFilter(setup("parse.metatags_names=*"))
    many = {f"n{number}": ("x",) for number in range(5_000)}

    assert len(everything.refine(content(), page(metas=METAS)).metadata) == 3
    assert len(everything.refine(content(), page(metas=many)).metadata) == MOST_NAMES
    assert not everything.refine(content(), page(metas={"n" * 5_000: ("x",)})).metadata
