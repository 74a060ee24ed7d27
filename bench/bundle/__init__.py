"""A program with its inputs and what they give, for a machine that et-peak does not run on."""
