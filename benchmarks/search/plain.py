"""Index the pages of a crawl with tantivy alone: address, title and text, stored, in one field each.

python -m benchmarks.search.plain CRAWL FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq
import tantivy

_HEAP = 128_000_000


def main(crawl: Path, folder: Path) -> None:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("title", stored=True, tokenizer_name="en_stem")
    builder.add_text_field("content", stored=True, tokenizer_name="en_stem")
    folder.mkdir(parents=True)
    writer = tantivy.Index(builder.build(), path=str(folder)).writer(heap_size=_HEAP, num_threads=1)
    for file in sorted(crawl.glob("segments/*/parse_text/*.parquet")):
        titles = dict(_rows(file.parents[1] / "parse_data" / file.name, "title"))
        for url, text in _rows(file, "text"):
            writer.add_document(tantivy.Document(url=[url], title=[titles[url]], content=[text]))
    writer.commit()
    writer.wait_merging_threads()


def _rows(file: Path, column: str) -> list[tuple[str, str]]:
    table = pq.read_table(file, columns=["url", column])
    return list(zip(table["url"].to_pylist(), table[column].to_pylist(), strict=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
