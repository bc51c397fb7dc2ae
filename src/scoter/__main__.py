"""``python -m scoter`` is the command ``scoter``."""

from __future__ import annotations

from scoter.cli.main import main

if __name__ == "__main__":
    main()
