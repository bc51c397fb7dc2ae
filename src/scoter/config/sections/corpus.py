"""The corpus: which texts are good enough for a language model.

The thresholds are those of published filters: Gopher (Rae et al. 2021, arXiv:2112.11446, appendix A.1.1), C4 (Raffel et
al. 2020, arXiv:1910.10683, section 2.2) and FineWeb (Penedo et al. 2024, arXiv:2406.17557, section 3.6).
"""

# No `from __future__ import annotations`: the annotations are read at run time.
from scoter.config.settings import Section, setting


class CorpusSettings(Section, frozen=True):
    """Texts for language models: a page that breaks a rule is left out of `scoter corpus`. `off` turns a rule off."""

    min_words: int | None = setting(50, "Fewest words of a text (Gopher).", at_least=0)
    max_words: int | None = setting(100_000, "Most words of a text (Gopher).", at_least=1)
    min_word_length: float | None = setting(3.0, "Lowest mean length of its words (Gopher).", at_least=0.0)
    max_word_length: float | None = setting(10.0, "Highest mean length of its words (Gopher).", at_least=0.0)
    max_symbol_ratio: float | None = setting(0.1, "Most `#` and ellipses per word (Gopher).", at_least=0.0)
    max_bullet_lines: float | None = setting(
        0.9, "Largest share of lines that start with a bullet (Gopher).", at_least=0.0, at_most=1.0
    )
    max_ellipsis_lines: float | None = setting(
        0.3, "Largest share of lines that end with an ellipsis (Gopher).", at_least=0.0, at_most=1.0
    )
    min_alphabetic_words: float | None = setting(
        0.8, "Smallest share of words that contain a letter (Gopher).", at_least=0.0, at_most=1.0
    )
    min_stop_words: int | None = setting(
        2, "Fewest different stop words, in languages that have a list (Gopher).", at_least=0
    )
    max_duplicate_lines: float | None = setting(
        0.3, "Largest share of lines that repeat an earlier one (Gopher).", at_least=0.0, at_most=1.0
    )
    max_duplicate_line_characters: float | None = setting(
        0.2, "Largest share of characters in such lines (Gopher).", at_least=0.0, at_most=1.0
    )
    max_top_2gram: float | None = setting(
        0.2, "Largest share of characters in the most frequent sequence of 2 words (Gopher).", at_least=0.0, at_most=1.0
    )
    max_top_3gram: float | None = setting(0.18, "The same for 3 words (Gopher).", at_least=0.0, at_most=1.0)
    max_top_4gram: float | None = setting(0.16, "The same for 4 words (Gopher).", at_least=0.0, at_most=1.0)
    max_duplicate_5grams: float | None = setting(
        0.15, "Largest share of characters in sequences of 5 words that repeat an earlier one (Gopher).",
        at_least=0.0, at_most=1.0,
    )  # fmt: skip
    max_duplicate_10grams: float | None = setting(
        0.1, "The same for sequences of 10 words (Gopher).", at_least=0.0, at_most=1.0
    )
    max_placeholders: int | None = setting(0, "Most occurrences of `lorem ipsum` (C4).", at_least=0)
    min_punctuated_lines: float | None = setting(
        0.12, "Smallest share of lines that end with punctuation (FineWeb).", at_least=0.0, at_most=1.0
    )
    max_short_lines: float | None = setting(
        0.67, "Largest share of lines with at most 30 characters (FineWeb).", at_least=0.0, at_most=1.0
    )
    shingle_words: int = setting(
        5, "Words of the sequences that texts are compared by to find near-duplicates.", at_least=1, at_most=50
    )
    minhash_bands: int = setting(
        14, "Bands of a text's MinHash; texts with an equal band are near-duplicates.", at_least=1, at_most=100
    )
    minhash_rows: int = setting(
        8,
        "Hashes of a band; 14 bands of 8, as in FineWeb, find 77 % of texts that share 75 % of their sequences.",
        at_least=1,
        at_most=32,
    )
