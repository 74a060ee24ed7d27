"""What was measured: the run folder, the rows cut from it, the published tables."""
