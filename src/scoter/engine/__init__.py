"""Where relational jobs run: DuckDB in this process, or Spark.

``port.py``        what a job asks of an engine
``sources.py``     what an engine reads: files, the columns wanted of them, what to put where a column is missing
``portable.py``    what would differ between engines, wrapped once
``expressions.py`` ``core.expr`` over columns
``duckdb.py``      the embedded engine; ``sql.py`` its SQL, ``watching.py`` its progress and errors
``ranges.py``      how it keeps within its memory: a job over tables that share a key runs range by range
``surveying.py``   what the footers of files say
``leaving.py``     rows as they leave an engine; ``literals.py`` tables written out in a job
``spark.py``       Spark in local mode
``asking.py``      questions in SQL over files, as views; what a session may read and nothing else
``opening.py``     from the configuration to an engine

Jobs are Ibis expressions, and mean the same on every engine: ``tests/contract/test_engine.py`` holds them to it.
"""

from scoter.engine.factory import open_engine
from scoter.engine.port import Engine, Job, Progress
from scoter.engine.sources import Source, source_of

__all__ = ["Engine", "Job", "Progress", "Source", "open_engine", "source_of"]
