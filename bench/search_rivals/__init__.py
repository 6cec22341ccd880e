"""Other people's search strategies replayed on recorded tuning spaces; see bench/search_rivals.py."""
