"""From what a person names to an environment: releases, commits, working trees."""

from __future__ import annotations

from bench.revision.model import Revision
from bench.revision.revisions import Revisions

__all__ = ["Revision", "Revisions"]
