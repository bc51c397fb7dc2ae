"""The corpus: texts for language models, without poor and repeated ones.

- ``job``           one corpus, from its options to its manifest
- ``quality``       what is measured of a text, and the rules that it must keep
- ``minhash``       near-duplicates among many texts
- ``measurements``  the measurements of all texts, saved
- ``verdicts``      which texts are kept, and why the others are dropped
- ``judged``        the pages of a corpus, with the verdict on each
- ``report``        what is kept and dropped, by rule
- ``columns``       the columns of a corpus and of the list of dropped pages
- ``files``         the files that are written
- ``card``          the README of a corpus, which the library ``datasets`` reads
- ``sample``        texts that are drawn for the sample report
- ``sample_page``   the sample report as HTML
"""
