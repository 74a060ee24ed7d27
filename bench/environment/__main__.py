"""Entry point of ``python -m bench.environment``."""

from __future__ import annotations

import sys

from bench.environment.cli import main

sys.exit(main())
