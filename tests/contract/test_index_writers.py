"""The contract of every index writer, through the delivery that `scoter index` uses."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from tests.contract import index_backends as backends
from tests.contract.index_backends import NOW, IndexBackend, Runs, document

from scoter.core.document import Document
from scoter.index.delivery import LONGEST_VALUE

LOCAL = ("tantivy", "csv", "jsonl", "parquet", "dummy")


@pytest.fixture(params=[*LOCAL, *(pytest.param(name, marks=pytest.mark.indexes) for name in backends.SERVERS)])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> IndexBackend:
    if request.param in LOCAL:
        return backends.local(request.param, tmp_path)
    return backends.served(request.param, request.getfixturevalue(backends.SERVERS[request.param]))


@pytest.fixture
def run(backend: IndexBackend, tmp_path: Path) -> Runs:
    return Runs(backend, tmp_path)


def test_committed_documents_are_visible(run: Runs) -> None:
    found = [document(number) for number in range(3)]

    assert run(found) == {}

    assert run.holds(*found)


def test_an_empty_run_leaves_an_empty_index(run: Runs) -> None:
    run()

    assert run.holds()


def test_every_type_of_value_can_be_written(run: Runs) -> None:
    full = document(
        1,
        tstamp=[NOW],
        date=[NOW, NOW],
        contentLength=[2**40],
        boost=[0.5],
        noindex=[True],
        type=["text/html", "text", "html"],
        anchor=["One", "Two"],
        huge=[2**70],
        bad=[float("nan")],
    ).with_fields({"metatag.description": ["About"], "meta_größe": ["groß"]})

    assert run([full]) == {}

    assert run.holds(full)


def test_a_document_replaces_an_earlier_one_with_its_id(run: Runs) -> None:
    first, second, third = document(1), document(2), document(1, title="New title")

    run([first, second])
    run([third])

    assert run.holds(third, second)


def test_deleted_documents_are_gone(run: Runs) -> None:
    found = [document(number) for number in range(4)]
    run(found)

    run(delete=[found[1].id, found[2].id, "http://unknown.org/"])

    assert run.holds(found[0], found[3])


def test_a_run_may_write_and_delete(run: Runs) -> None:
    run([document(1), document(2)])

    run([document(3)], delete=["http://a.org/1"])

    assert run.holds(document(2), document(3))


def test_a_document_that_was_deleted_can_be_written_again(run: Runs) -> None:
    run([document(1)])
    run(delete=["http://a.org/1"])
    run([document(1, title="Again")])

    assert run.holds(document(1, title="Again"))


def test_a_run_of_several_batches_is_complete(run: Runs) -> None:
    found = [document(number) for number in range(1_200)]
    run(document(number, title="Old") for number in range(600))

    assert run(found, delete=(f"http://b.org/{number}" for number in range(1_100))) == {}

    assert run.holds(*found)


def test_a_repeated_run_changes_nothing(run: Runs) -> None:
    old, new = document(1), [document(2), document(3)]
    run([old, document(4)])

    run(new, delete=["http://a.org/4"])
    run(new, delete=["http://a.org/4"], repeat=True)

    assert run.holds(old, *new)


def test_a_run_that_was_not_committed_can_be_repeated(run: Runs) -> None:
    run([document(1)])

    run([document(2)], delete=["http://a.org/1"], commit=False)
    if run.backend.is_atomic:
        assert run.holds(document(1))
    run([document(2)], delete=["http://a.org/1"], repeat=True)

    assert run.holds(document(2))


def test_a_rebuild_replaces_the_documents(run: Runs) -> None:
    run([document(1), document(2)])

    run([document(1, title="New"), document(2)], rebuild=True)

    assert run.holds(document(1, title="New"), document(2))


def test_texts_in_all_scripts_are_kept(run: Runs) -> None:
    found = document(1, title="Größe «Ж» 東京 ไทย 🦭 \U0010ffff é", content=["a\u2028b\tc\nd\r\ne\x01\x1f\ufffe\x7f"])

    assert run([found]) == {}

    assert run.holds(found)


def test_nuls_are_removed_and_lone_surrogates_replaced(run: Runs) -> None:
    run([document(1, title="a\0b\ud800c\udfff").with_fields({"na\0me\ud800": ["x\0"]})])

    assert run.holds(document(1, title="ab?c?"))


def test_a_text_of_5_megabytes_is_truncated(run: Runs) -> None:
    text = "".join(f"{number:x} " for number in range(1_000_000))[:5_000_000]

    assert run([document(1, content=[text]), document(2)]) == {}

    assert run.holds(document(1, content=[text[:LONGEST_VALUE]]), document(2))


def test_a_url_of_3000_characters_is_an_id(run: Runs) -> None:
    long = [Document(id=f"http://a.org/{'ä' * 1_500}/{number}").with_fields(title=["Long"]) for number in range(3)]

    assert run(long) == {}
    assert run.holds(*long)

    run(delete=[long[1].id])
    assert run.holds(long[0], long[2])


def test_memory_is_bounded(run: Runs) -> None:
    words = "The grey seal hauls out on rocks and sandbanks at low tide to rest. "
    run([document(0)])  # imports and connections do not count

    tracemalloc.start()
    try:
        run(document(number, content=[f"{number} {words * 300}"]) for number in range(1_000))  # 20 MB
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 20 * 2**20
    assert len(run.held()) == 1_000
