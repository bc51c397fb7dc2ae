"""Chains of filters and normalisers, with and without a trace."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scoter.core.chain import Step, UrlNormalizer, keeps, normalize, respell, rewrite, trace_filters, trace_normalize
from scoter.core.url import Url, canonical


class Replaces:
    """A normaliser that replaces a word, and returns `None` if the URL contains another word."""

    def __init__(self, old: str, new: str, poison: str = "\0") -> None:
        self._old, self._new, self._poison = old, new, poison

    def normalize(self, text: str, scope: str) -> str | None:
        return None if self._poison in text else text.replace(self._old, self._new, 1)


class Scoped:
    """A normaliser that is active in one scope only."""

    def normalize(self, text: str, scope: str) -> str | None:
        return text + "!" if scope == "inject" else text


class Lacks:
    """A filter that keeps URLs without a word, and explains why."""

    def __init__(self, word: str) -> None:
        self._word = word

    def keeps(self, url: Url) -> bool:
        return self._word not in url.text

    def explain(self, url: Url) -> str:
        return f"looked for {self._word}"


class Silent:
    """A filter that keeps everything and explains nothing."""

    def keeps(self, url: Url) -> bool:
        return True


def test_normalisers_run_in_order_and_the_result_is_canonical() -> None:
    chain = [("first", Replaces("a/", "b/")), ("second", Replaces("b/", "C/../c/"))]

    assert normalize("HTTP://x.example/a/", chain, "default") == canonical("http://x.example/c/")


def test_chain_repeats_up_to_loop_count_while_something_changes() -> None:
    chain = [("one", Replaces("aa", "a"))]

    assert rewrite("x://h/aaaa", chain, "default", loops=1) == "x://h/aaa"
    assert rewrite("x://h/aaaa", chain, "default", loops=2) == "x://h/aa"
    assert rewrite("x://h/aaaa", chain, "default", loops=100) == "x://h/a"


def test_normaliser_gets_the_scope() -> None:
    chain = [("scoped", Scoped())]

    assert str(normalize("http://h.example/a", chain, "inject")) == "http://h.example/a!"
    assert str(normalize("http://h.example/a", chain, "outlink")) == "http://h.example/a"


@given(
    st.lists(
        st.tuples(st.just("r"), st.builds(Replaces, st.sampled_from("ab/#"), st.sampled_from(["", "c", "B/../"])))
    ),
    st.text(alphabet="abC/%?#.", max_size=8),
    st.integers(1, 3),
)
def test_normalising_a_url_equals_normalising_its_text(
    chain: list[tuple[str, UrlNormalizer]], path: str, loops: int
) -> None:
    url = canonical(f"http://h.example/{path}")

    assert respell(url, chain, "outlink", loops) == normalize(url.text, chain, "outlink", loops)


def test_text_that_is_no_url_gives_none() -> None:
    assert normalize("nonsense", [], "default") is None
    assert (
        normalize("http://h.example/poison", [("p", Replaces("a", "b", "poison")), ("s", Scoped())], "default") is None
    )


def test_trace_of_normalisers_lists_each_change() -> None:
    chain: list[tuple[str, UrlNormalizer]] = [("first", Replaces("a", "B")), ("second", Scoped())]

    url, steps = trace_normalize("http://h.x/a", chain, "default")

    assert url == canonical("http://h.x/B")
    assert steps == (
        Step("first", "http://h.x/a", "http://h.x/B"),
        Step("second", "http://h.x/B", "http://h.x/B"),
    )
    assert [step.changed for step in steps] == [True, False]


def test_trace_shows_changes_by_canonicalisation() -> None:
    assert trace_normalize("HTTP://h.x", [], "default")[1] == (Step("canonical", "HTTP://h.x", "http://h.x/"),)
    assert trace_normalize("nonsense", [], "default") == (None, (Step("canonical", "nonsense", None, "not a URL"),))


def test_trace_of_filters_ends_at_the_filter_that_drops() -> None:
    url = canonical("http://h.x/a")

    kept, steps = trace_filters(url, [("silent", Silent()), ("lacks", Lacks("a")), ("never asked", Silent())])

    assert not kept
    assert steps == (Step("silent", url.text, url.text), Step("lacks", url.text, None, "looked for a"))
    assert [step.kept for step in steps] == [True, False]


_normalizers = st.lists(
    st.builds(
        lambda old, new, poison: (f"{old} to {new}", Replaces(old, new, poison)),
        st.text(alphabet="ab/:h", min_size=1, max_size=2),
        st.text(alphabet="ab/#?", max_size=3),
        st.sampled_from(["\0", "bb", "?"]),
    ),
    max_size=4,
)
_filters = st.lists(
    st.builds(lambda word: (word, Lacks(word)), st.text(alphabet="ab/", min_size=1, max_size=2)), max_size=4
)
_texts = st.one_of(st.text(), st.builds("http://h.example/{}".format, st.text(alphabet="ab/?#")))


@given(_texts, _normalizers, st.integers(min_value=1, max_value=4))
def test_trace_and_normalize_agree(text: str, chain: list[tuple[str, Replaces]], loops: int) -> None:
    url, steps = trace_normalize(text, chain, "default", loops)

    assert url == normalize(text, chain, "default", loops)
    assert [step.before for step in steps[1:]] == [step.after for step in steps[:-1]]


@given(st.text(alphabet="ab/", max_size=6), _filters)
def test_trace_and_filter_agree(path: str, chain: list[tuple[str, Lacks]]) -> None:
    url = canonical(f"http://h.example/{path}")

    kept, steps = trace_filters(url, chain)

    assert kept is keeps(url, chain)
    assert kept is all(step.kept for step in steps)
