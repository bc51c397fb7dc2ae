#!/bin/sh
# Remove from an environment what Scoter never loads: debug symbols, the tests of its dependencies, their sources for C
# and Cython, and Arrow's network protocol. For container images:  deploy/slim.sh /path/to/venv
# Needs strip (Debian: binutils) for half of the gain; without it, the symbols stay.
set -eu
cd "$1"/lib/python3*/site-packages
before=$(du -sm . | cut -f1)

rm -rf pyarrow/*flight* pyarrow/include pyarrow/src zstandard/_cffi*
find . -type d \( -name tests -o -name __pycache__ \) -prune -exec rm -rf {} +
find . -type f \( -name '*.pyx' -o -name '*.px[di]' -o -name '*.[ach]' \) -delete

# Libraries in *.libs were edited after linking: strip would break them. A file may be shared with uv's cache, so it is
# replaced, not changed.
if command -v strip >/dev/null; then
  find . -name '*.so*' -type f ! -path './*.libs/*' -exec sh -c 'strip --strip-unneeded -o "$1.new" "$1" && mv "$1.new" "$1"' - {} \;
fi
echo "$before MB before, $(du -sm . | cut -f1) MB after"
