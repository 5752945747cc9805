"""From raw records to tables, figures and findings, a module per stage: files in, files out."""
