"""Where relational jobs run: DuckDB in this process, or Spark.

- ``port``            the port between jobs and engines
- ``factory``         opens the engine that the configuration names
- ``sources``         what an engine reads; splits a job into key ranges that fit into memory
- ``portable``        expressions that would differ between engines, wrapped once
- ``expressions``     the expression language of ``core.expr`` over columns
- ``duckdb``          the embedded engine
- ``duckdb_compiler`` makes SQL of expressions that are not in the cache of queries
- ``sql``             builds DuckDB SQL
- ``types``           how DuckDB names the types of Arrow
- ``batches``         record batches with exact types
- ``monitor``         progress and errors of DuckDB queries
- ``spark``           Spark, on this machine or on a cluster
- ``spark_files``     the files through which Spark's executors and this process pass rows to each other
- ``row_functions``   how row functions reach Spark's executors, and how their errors come back
- ``environment``     packs the packages that executors need
- ``ibis_compat``     adjustments to Ibis that both engines need
- ``workspace``       tables made step by step with SQL, for reports
- ``session``         read-only SQL sessions over files, for people

Jobs are Ibis expressions and mean the same on every engine; ``tests/contract/test_engine.py`` checks this.
"""

from scoter.engine.factory import open_engine
from scoter.engine.port import Engine, Job, Progress
from scoter.engine.sources import TableSource, file_source, source_of

__all__ = ["Engine", "Job", "Progress", "TableSource", "file_source", "open_engine", "source_of"]
