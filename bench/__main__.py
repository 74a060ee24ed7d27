"""Entry point of ``python -m bench``; ``nox -s bench -- ...`` runs it in its environment."""

from __future__ import annotations

import sys

from bench.cli import main

sys.exit(main())
