"""Where relational jobs run: DuckDB in this process, or a cluster.

``port.py``    what a job asks of an engine
``sources.py`` what an engine reads: files, the columns wanted of them, what to put where a column is missing
``duckdb.py``  the embedded engine
``ranges.py``  how it keeps within its memory: a job over tables that share a key runs range by range
``opening.py`` from the configuration to an engine

Jobs are Ibis expressions, and mean the same on every engine; ``portable.py`` wraps what would not.
"""

from scoter.engine.opening import open_engine
from scoter.engine.port import Engine, Job, Progress
from scoter.engine.sources import Source, source_of

__all__ = ["Engine", "Job", "Progress", "Source", "open_engine", "source_of"]
