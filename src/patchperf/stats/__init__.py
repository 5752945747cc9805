"""Statistics of measured cases: pure functions, tables in and tables out."""
