"""What a person sees: the progress of a run and its tables."""
