"""Spark, on this machine or on a cluster: the same jobs on more than one machine.

All results leave Spark as Parquet, because maps cannot leave it any other way. Row functions run in the processes of
the cluster, next to the rows; the plug-ins that they hold travel by name. These processes also read and write the files
of the crawl directory, so all machines must see it under the same path. Spark is an optional extra and is imported only
where it is used.
"""
# mypy: disable-error-code="import-untyped, import-not-found"

from __future__ import annotations

import itertools
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import ibis
import pyarrow.parquet as pq

from scoter.engine.ibis_compat import arrow_schema, cast_batch, store_memtables
from scoter.engine.port import BATCH, Job, Progress, Rows
from scoter.engine.portable import timestamp
from scoter.engine.row_functions import raise_sent_error, row_mapper
from scoter.engine.sources import (
    STORED_FILE,
    STORED_ROW,
    TableSource,
    UniformFiles,
    file_source,
    stored_name,
    survey,
    with_positions,
)
