"""Where relational jobs run: DuckDB in this process, or Spark.

``port.py``         what a job may ask of an engine
``sources.py``      what an engine reads, and how a job is cut into key ranges to fit into memory
``portable.py``     expressions that would differ between engines, wrapped once
``expressions.py``  the expression language of ``core.expr`` over columns
``duckdb.py``       the embedded engine; ``sql.py`` builds its SQL, ``monitor.py`` handles its progress and errors
``spark.py``        Spark in local mode
``ibis_compat.py``  what both engines need of Ibis
``session.py``      read-only SQL sessions over files, for people
``factory.py``      opens the engine that the configuration names

Jobs are Ibis expressions and mean the same on every engine: ``tests/contract/test_engine.py`` checks that they do.
"""

from scoter.engine.factory import open_engine
from scoter.engine.port import Engine, Job, Progress
from scoter.engine.sources import TableSource, file_source, source_of

__all__ = ["Engine", "Job", "Progress", "TableSource", "file_source", "open_engine", "source_of"]
