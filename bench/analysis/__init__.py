"""What measurements say: noise, comparison, attribution. Pure: tables in, judgements out."""
