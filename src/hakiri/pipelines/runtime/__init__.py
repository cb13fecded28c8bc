"""Running pipelines: what is claimed, read, written and committed, and by whom."""
