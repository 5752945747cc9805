"""Static pages of a study's cases: an index to search, sort and filter, and one page per case, without a server."""
