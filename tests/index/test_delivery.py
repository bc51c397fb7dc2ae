"""Which writers get a document, under which names, and what the writers of files leave behind."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scoter.config import Config, load
from scoter.core.document import Document
from scoter.errors import ConfigError, UserError
from scoter.index.delivery import LONGEST_VALUE, MOST_FIELDS, MOST_VALUES, DocumentDelivery, bounded
from scoter.index.routes import FieldMapping, plan_writers
from scoter.index.search import Searcher
from scoter.plugins import IndexRun

NOW = datetime(2026, 11, 15, tzinfo=UTC)


def document(number: int = 0, **fields: Any) -> Document:
    return Document(id=f"http://a.org/{number}").with_fields({"title": [f"Title {number}"], **fields})


def deliver(
    folder: Path,
    *documents: Document,
    names: tuple[str, ...] = ("jsonl",),
    file: Path | None = None,
    config: Config | None = None,
    delete: tuple[str, ...] = (),
    number: int = 1,
    rebuild: bool = False,
    commit: bool = True,
) -> None:
    run = IndexRun(directory=folder, number=number, rebuild=rebuild)
    with DocumentDelivery(plan_writers(names, file), config or load(), run, NOW) as delivery:
        for url in delete:
            delivery.delete(url)
        for each in documents:
            delivery.add(each)
        if commit:
            delivery.commit()


def rows(folder: Path, kind: str = "jsonl") -> list[dict[str, Any]]:
    lines = [
        line for file in sorted((folder / f"documents-{kind}").glob("doc*")) for line in file.read_text().splitlines()
    ]
    return [json.loads(line) for line in lines]


@pytest.fixture
def writers_file(tmp_path: Path) -> Path:
    file = tmp_path / "writers.toml"
    file.write_text(
        """
[writer.one]
type = "jsonl"
folder = "FOLDER/one"
mapping.rename = { title = "headline" }
mapping.copy = { title = ["exact", "sort"] }
mapping.remove = ["secret"]

[writer.two]
type = "jsonl"
folder = "FOLDER/two"

[[route]]
writers = ["one"]
expr = "lang == 'en'"

[[route]]
writers = ["two"]
default = true
""".replace("FOLDER", str(tmp_path))
    )
    return file


def in_folder(folder: Path) -> dict[str, dict[str, Any]]:
    found = [json.loads(line) for file in folder.glob("documents*") for line in file.read_text().splitlines()]
    return {row["id"]: row for row in found}


def test_documents_are_routed_and_mapped(tmp_path: Path, writers_file: Path) -> None:
    english = document(1, lang=["en"], secret=["x"])
    german = document(2, lang=["de"], secret=["x"])

    deliver(tmp_path, english, german, names=("one", "two"), file=writers_file)

    one, two = in_folder(tmp_path / "one"), in_folder(tmp_path / "two")
    assert one == {
        english.id: {"id": english.id, "headline": "Title 1", "lang": "en", "exact": "Title 1", "sort": "Title 1"}
    }
    assert two == {german.id: {"id": german.id, "title": "Title 2", "lang": "de", "secret": "x"}}


def test_a_document_is_deleted_where_it_no_longer_goes(tmp_path: Path, writers_file: Path) -> None:
    deliver(tmp_path, document(1, lang=["de"]), names=("one", "two"), file=writers_file)

    assert (tmp_path / "one" / "deleted-000001.txt").read_text() == "http://a.org/1\n"


def test_paths_in_the_file_of_writers_start_at_its_folder(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    file = tmp_path / "conf" / "writers.toml"
    file.write_text('[writer.one]\ntype = "jsonl"\nfolder = "out"\n')

    config = load(overrides=[f'index.writers_file="{file}"'])
    deliver(tmp_path, document(1), names=("one",), file=file, config=config)

    assert in_folder(tmp_path / "conf" / "out").keys() == {"http://a.org/1"}


def test_copied_values_are_added_to_a_field() -> None:
    mapping = FieldMapping(
        copy={"title": ["search", "title"], "content": ["search"]}, rename={"content": "text"}, remove=["text"]
    )

    assert mapping.apply(Document(id="1", fields={"title": ("a",), "content": ("b",)})).fields == {
        "title": ("a",),
        "search": ("a", "b"),
    }


def test_fields_can_swap_names() -> None:
    mapping = FieldMapping(rename={"a": "b", "b": "a"})

    assert mapping.apply(Document(id="1", fields={"a": (1,), "b": (2,)})).fields == {"b": (1,), "a": (2,)}


def test_renamed_fields_join_their_values() -> None:
    mapping = FieldMapping(rename={"a": "x", "b": "x"})

    assert mapping.apply(Document(id="1", fields={"a": (1,), "b": (2,)})).fields == {"x": (1, 2)}


BAD_FILES = [
    ("[writer.one", "not a file of index writers"),
    ("[writer.one]\ntype = 3", "writer.one"),
    ("[writer.one]\ntype = 'jsonl'\nmapping.rename = 3", "writer.one"),
    ("[writer.one]\ntype = 'jsonl'\nmapping.move = {}", "writer.one"),
    ("[writer.one]\ntype = 'jsonk'", "did you mean"),
    ("[writer.one]\ntype = 'jsonl'\nfoldr = 'x'", "folder"),
    ("[writer.one]\ntype = 'jsonl'\n[[route]]\nwriters = ['two']", "did you mean|not active"),
    ("[writer.one]\ntype = 'jsonl'\n[[route]]\nwriters = ['one']\nexpr = 'lang ='", "expression"),
    ("[[rout]]\nwriters = []", "not a file of index writers"),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES)
def test_a_wrong_file_of_writers_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "writers.toml"
    file.write_text(text)

    with pytest.raises(UserError, match=message):
        deliver(tmp_path, names=("one",), file=file)


def test_a_missing_file_of_writers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        deliver(tmp_path, names=("one",), file=tmp_path / "none.toml")


def test_a_writer_listed_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="twice"):
        deliver(tmp_path, names=("csv", "csv"))


def test_several_writers_get_every_document(tmp_path: Path) -> None:
    found = tuple(document(number) for number in range(1_200))

    deliver(tmp_path, *found, names=("jsonl", "csv", "parquet", "dummy"))

    assert [row["id"] for row in rows(tmp_path)] == [each.id for each in found]
    with (tmp_path / "documents-csv" / "documents-000001.csv").open() as file:
        assert len(list(csv.reader(file))) == 1_201
    assert pq.read_table(tmp_path / "documents-parquet" / "documents-000001.parquet").num_rows == 1_200
    assert (tmp_path / "documents-txt" / "documents-000001.txt").read_text().startswith("add\thttp://a.org/0\n")


def test_what_is_not_committed_leaves_no_file(tmp_path: Path) -> None:
    deliver(tmp_path, document(1), names=("jsonl", "parquet"), delete=("x",), commit=False)

    assert [path for folder in tmp_path.iterdir() for path in folder.iterdir()] == []


def test_a_repeated_run_replaces_its_file(tmp_path: Path) -> None:
    deliver(tmp_path, document(1), number=1)
    deliver(tmp_path, document(1), document(2), number=2)
    deliver(tmp_path, document(1), document(3), number=2)

    assert [row["id"][-1] for row in rows(tmp_path)] == ["1", "1", "3"]


def test_a_rebuild_replaces_all_files(tmp_path: Path) -> None:
    deliver(tmp_path, document(1), number=1, delete=("x",))
    deliver(tmp_path, document(2), number=2, rebuild=True)

    assert [path.name for path in (tmp_path / "documents-jsonl").iterdir()] == ["documents-000002.jsonl"]


def test_csv_has_the_chosen_columns(tmp_path: Path) -> None:
    config = load(
        overrides=[
            'plugin.indexwriter-csv.fields=["id", "tag", "tstamp", "absent"]',
            "plugin.indexwriter-csv.separator=;",
            "plugin.indexwriter-csv.maxfieldlength=4",
            "plugin.indexwriter-csv.maxfieldvalues=2",
            "plugin.indexwriter-csv.header=false",
        ]
    )

    deliver(tmp_path, document(1, tag=["abcdefg", "x;y", "z"], tstamp=[NOW]), names=("csv",), config=config)

    line = (tmp_path / "documents-csv" / "documents-000001.csv").read_text()
    assert line == 'http;"abcd|x;y";2026;\n'


def test_parquet_keeps_unknown_fields_as_texts(tmp_path: Path) -> None:
    deliver(tmp_path, document(1, tstamp=[NOW], tag=["a", "b"], contentLength=[5], size=[7]), names=("parquet",))

    (row,) = pq.read_table(tmp_path / "documents-parquet" / "documents-000001.parquet").to_pylist(
        maps_as_pydicts="strict"
    )
    assert (row["tstamp"], row["contentLength"], row["fields"]) == (NOW, 5, {"tag": ["a", "b"], "size": ["7"]})


def test_strange_documents_are_made_storable(tmp_path: Path) -> None:
    many = {f"f{number}": ("x",) for number in range(10_000)}
    strange = Document(
        id="http://a.org/",
        fields={"title": ("a\0b\ud800",), "content": ("seals " * 9_000_000,), "l": ("v",) * 5_000, **many},
    )

    found = bounded(strange)

    assert found.fields["title"] == ("ab?",)
    assert len(found.fields["content"][0]) == LONGEST_VALUE
    assert len(found.fields["l"]) == MOST_VALUES
    assert len(found.fields) == MOST_FIELDS
    deliver(tmp_path, strange, names=("jsonl", "csv", "parquet", "tantivy"))
    assert Searcher.of_crawl(tmp_path).search("seals").total == 1


def test_an_ordinary_document_is_not_copied() -> None:
    plain = document(1)

    assert bounded(plain) is plain
