"""Plug-ins as people install them: packages with entry points, some of them broken."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scoter.config import load
from scoter.core.chain import keeps, trace_filters
from scoter.core.url import Url, canonical
from scoter.errors import ConfigError, PluginError
from scoter.plugins import POINTS, active, chain, check_tables, find, find_by_full_name, installed

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package of one module, named like the package, with the given entry points."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, code: str, **entries: str) -> None:
        monkeypatch.delitem(sys.modules, name, raising=False)
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(code))
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"[scoter.{point}]\n{value}" for point, value in entries.items()]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        installed.cache_clear()

    installed.cache_clear()
    yield write
    installed.cache_clear()
    for name in ("pack", "other"):
        sys.modules.pop(name, None)


FILTER = """
    class Some:
        def __init__(self, setup): self.setup = setup
        def keeps(self, url): return True
"""


def test_every_extension_point_has_a_description_and_a_setting() -> None:
    config = load()

    for point in POINTS.values():
        assert point.sentence.endswith(".")
        assert isinstance(active(point, config), tuple)


def test_every_plugin_active_by_default_can_be_instantiated() -> None:
    config = load(overrides=["agent.name=testbot"])

    for point in POINTS.values():
        assert len(chain(point.name, config)) == len(active(point, config))


def test_every_built_in_plugin_loads_and_has_a_description() -> None:
    ours = [plugin for plugin in installed() if plugin.package == "scoter"]

    assert len(ours) >= 20
    for plugin in ours:
        assert plugin.purpose().endswith(".")


def test_chain_has_the_configured_order(install: Install) -> None:
    install("pack", FILTER, urlfilter="one = pack:Some\ntwo = pack:Some")

    made = chain("urlfilter", load(overrides=['urlfilter.filters=["two", "validator", "one"]']))

    assert [name for name, _ in made] == ["two", "validator", "one"]


def test_unknown_name_is_reported_with_the_setting_and_the_nearest_name() -> None:
    with pytest.raises(PluginError) as caught:
        chain("urlfilter", load(overrides=['urlfilter.filters=["sufix"]']))

    assert "urlfilter.filters: 'sufix' is not a urlfilter plug-in; did you mean 'suffix'?" in str(caught.value)
    assert "Installed:" in str(caught.value)


def test_plugin_listed_twice_is_an_error() -> None:
    with pytest.raises(ConfigError, match="'suffix' is listed twice"):
        chain("urlfilter", load(overrides=['urlfilter.filters=["suffix", "suffix"]']))


def test_plugin_that_fails_to_import_is_reported_with_its_package(install: Install) -> None:
    install("pack", "import no_such_module", urlfilter="some = pack:Some")

    with pytest.raises(PluginError) as caught:
        find(POINTS["urlfilter"], "some").load()

    assert "urlfilter-some (package pack 1.0) failed to import: ModuleNotFoundError" in str(caught.value)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("Some = 3", "is not a class"),
        ("class Some: ...", "lacks keeps"),
        ("class Some:\n    keeps = True", "lacks keeps"),
        ("class Some:\n    def keeps(self): ...", r"keeps\(\) must take \(self, url\)"),
        ("class Some:\n    def keeps(self, url, more): ...", r"keeps\(\) must take \(self, url\)"),
    ],
)
def test_plugin_that_does_not_fit_its_point_is_reported_with_reasons(install: Install, code: str, problem: str) -> None:
    install("pack", code, urlfilter="some = pack:Some")

    with pytest.raises(PluginError, match=problem):
        find(POINTS["urlfilter"], "some").load()


@pytest.mark.parametrize(
    "code",
    [
        "class Some:\n    def keeps(self, url, more=None): ...",
        "class Some:\n    def keeps(self, *all): ...",
        "class Some:\n    @staticmethod\n    def keeps(url): ...",
    ],
)
def test_plugin_may_have_optional_parameters(install: Install, code: str) -> None:
    install("pack", code, urlfilter="some = pack:Some")

    assert find(POINTS["urlfilter"], "some").load().__name__ == "Some"


def test_scoring_filter_needs_at_least_one_hook(install: Install) -> None:
    install(
        "pack",
        """
        class None_: ...
        class Row:
            def sort_value(self, url, datum, value): return value
        class Columns:
            def sort_value_columns(self, table): return table.score
        class Wrong:
            def sort_value_columns(self): ...
        """,
        scoring="none = pack:None_\nrow = pack:Row\ncolumns = pack:Columns\nwrong = pack:Wrong",
    )

    assert find(POINTS["scoring"], "row").load()
    assert find(POINTS["scoring"], "columns").load()
    with pytest.raises(PluginError, match="none of the scoring hooks"):
        find(POINTS["scoring"], "none").load()
    with pytest.raises(PluginError, match=r"must take \(self, table\)"):
        find(POINTS["scoring"], "wrong").load()


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import sys\nsys.exit(3)", "failed to import: SystemExit: 3"),
        ("class Some:\n    def keeps(self, url): ...", "cannot be instantiated: TypeError"),
        (
            "class Some:\n    def __init__(self, setup): 1 / 0\n    def keeps(self, url): ...",
            "cannot be instantiated: ZeroDiv",
        ),
        ("class Some:\n    columns = ('depth', 3)\n    def keeps(self, url): ...", "columns is not a tuple of Column"),
    ],
)
def test_plugin_that_fails_to_instantiate_is_reported_with_its_name(install: Install, code: str, problem: str) -> None:
    install("pack", code, urlfilter="some = pack:Some")

    with pytest.raises(PluginError, match=rf"urlfilter-some .package pack 1\.0.*{problem}"):
        find(POINTS["urlfilter"], "some").make(load())


def test_filter_that_raises_is_reported_with_its_name() -> None:
    class Raises:
        def keeps(self, url: Url) -> bool:
            raise ZeroDivisionError("oops")

    with pytest.raises(PluginError, match=r"some failed on 'http://a\.test/': ZeroDivisionError: oops"):
        keeps(canonical("http://a.test/"), [("some", Raises())])
    with pytest.raises(PluginError, match="some failed on"):
        trace_filters(canonical("http://a.test/"), [("some", Raises())])


def test_two_packages_with_the_same_plugin_name_are_an_error(install: Install) -> None:
    install("pack", FILTER, urlfilter="some = pack:Some")
    install("other", FILTER, urlfilter="some = other:Some")

    with pytest.raises(PluginError, match="two packages offer urlfilter-some"):
        find(POINTS["urlfilter"], "some")


SETTINGS = """
    from datetime import timedelta
    import msgspec
    class Some:
        class Settings(msgspec.Struct, frozen=True):
            wait: timedelta = timedelta(seconds=1)
        def __init__(self, setup): self.wait = setup.settings.wait
        def keeps(self, url): return True
"""


def test_plugin_gets_its_settings_from_its_table(install: Install) -> None:
    install("pack", SETTINGS, urlfilter="some = pack:Some")
    config = load(overrides=['urlfilter.filters=["some"]', 'plugin.urlfilter-some.wait="2m"'])

    ((_, made),) = chain("urlfilter", config)

    assert made.wait.total_seconds() == 120


def test_table_of_an_inactive_plugin_is_checked(install: Install) -> None:
    install("pack", SETTINGS, urlfilter="some = pack:Some")

    with pytest.raises(ConfigError, match=r"did you mean plugin\.urlfilter-some\.wait"):
        check_tables(load(overrides=["plugin.urlfilter-some.wiat=1"]))
    with pytest.raises(ConfigError, match="is not a plug-in; did you mean urlfilter-some"):
        check_tables(load(overrides=["plugin.urlfilter-sone.wait=1"]))
    with pytest.raises(ConfigError, match="has no settings"):
        check_tables(load(overrides=["plugin.urlfilter-suffix.wait=1"]))


def test_plugin_is_found_by_full_name_or_the_nearest_is_suggested() -> None:
    assert find_by_full_name("urlfilter-regex").name == "regex"
    with pytest.raises(PluginError, match="did you mean 'urlfilter-regex'"):
        find_by_full_name("urlfiler-regex")
    with pytest.raises(PluginError, match="did you mean 'regex'"):
        find_by_full_name("urlfilter-regexp")
