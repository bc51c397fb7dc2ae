"""The corpus: which texts are good enough for a language model.

The rules are those of published filters: Gopher (Rae et al. 2021, arXiv:2112.11446, appendix A.1.1), C4 (Raffel et al.
2020, arXiv:1910.10683, section 2.2) and FineWeb (Penedo et al. 2024, arXiv:2406.17557, section 3.6).

Some thresholds are looser than the published ones, which are for random pages of the web. Of 2,900 pages of reference
documentation (Python, PostgreSQL, SQLite, Git, Node.js, GIMP, Debian), those drop a quarter, nearly all of them good:
manuals repeat phrases and have code and tables. The thresholds here keep 99.5 % of these pages, rule by rule. Against
menus and indexes, which FineWeb's rules about lines drop, there is ``min_prose`` instead.
"""

# No `from __future__ import annotations`: the annotations are read at run time.
from scoter.config.settings import Section, setting


class CorpusSettings(Section, frozen=True):
    """Texts for language models: a page that breaks a rule is left out of `scoter corpus`. `off` turns a rule off."""

    min_words: int | None = setting(50, "Fewest words of a text (Gopher: 50).", at_least=0)
    max_words: int | None = setting(100_000, "Most words of a text (Gopher: 100,000).", at_least=1)
    min_word_length: float | None = setting(3.0, "Lowest mean length of its words (Gopher: 3).", at_least=0.0)
    max_word_length: float | None = setting(10.0, "Highest mean length of its words (Gopher: 10).", at_least=0.0)
    max_symbol_ratio: float | None = setting(
        0.1, "Most `#` and ellipses per word, without `#` at the start of a line (Gopher: 0.1).", at_least=0.0
    )
    max_bullet_lines: float | None = setting(
        0.9, "Largest share of lines that start with a bullet (Gopher: 0.9).", at_least=0.0, at_most=1.0
    )
    max_ellipsis_lines: float | None = setting(
        0.5, "Largest share of lines that end with an ellipsis (Gopher: 0.3).", at_least=0.0, at_most=1.0
    )
    min_alphabetic_words: float | None = setting(
        0.6, "Smallest share of words that contain a letter (Gopher: 0.8).", at_least=0.0, at_most=1.0
    )
    min_stop_words: int | None = setting(
        2, "Fewest different stop words, in languages that have a list (Gopher: 2).", at_least=0
    )
    min_prose: float | None = setting(
        0.1,
        "Smallest share of words in lines that read like sentences: at least 6 words, 2 of them different stop words.",
        at_least=0.0, at_most=1.0,
    )  # fmt: skip
    max_duplicate_lines: float | None = setting(
        0.6, "Largest share of lines that repeat an earlier one (Gopher: 0.3).", at_least=0.0, at_most=1.0
    )
    max_duplicate_line_characters: float | None = setting(
        0.4, "Largest share of characters in such lines (Gopher: 0.2).", at_least=0.0, at_most=1.0
    )
    max_top_2gram: float | None = setting(
        0.3, "Largest share of characters in the most frequent sequence of 2 words (Gopher: 0.2).",
        at_least=0.0, at_most=1.0,
    )  # fmt: skip
    max_top_3gram: float | None = setting(0.28, "The same for 3 words (Gopher: 0.18).", at_least=0.0, at_most=1.0)
    max_top_4gram: float | None = setting(0.26, "The same for 4 words (Gopher: 0.16).", at_least=0.0, at_most=1.0)
    max_duplicate_5grams: float | None = setting(
        0.6, "Largest share of characters in sequences of 5 words that repeat an earlier one (Gopher: 0.15).",
        at_least=0.0, at_most=1.0,
    )  # fmt: skip
    max_duplicate_10grams: float | None = setting(
        0.5, "The same for sequences of 10 words (Gopher: 0.1).", at_least=0.0, at_most=1.0
    )
    max_placeholders: int | None = setting(0, "Most occurrences of `lorem ipsum` (C4: 0).", at_least=0)
    min_punctuated_lines: float | None = setting(
        None, "Smallest share of lines that end with punctuation (FineWeb: 0.12).", at_least=0.0, at_most=1.0
    )
    max_short_lines: float | None = setting(
        None, "Largest share of lines with at most 30 characters (FineWeb: 0.67).", at_least=0.0, at_most=1.0
    )
    shingle_words: int = setting(
        5, "Words of the sequences that texts are compared by to find near-duplicates.", at_least=1, at_most=50
    )
    minhash_bands: int = setting(
        14, "Bands of a text's MinHash; texts with an equal band may be near-duplicates.", at_least=1, at_most=100
    )
    minhash_rows: int = setting(
        8,
        "Hashes of a band; 14 bands of 8, as in FineWeb, find 77 % of texts that share 75 % of their sequences.",
        at_least=1,
        at_most=32,
    )
    min_similarity: float = setting(
        0.7,
        "Share of its sequences of words that a near-duplicate has in common with the page that is kept, as estimated "
        "by MinHash.",
        at_least=0.0, at_most=1.0,
    )  # fmt: skip
