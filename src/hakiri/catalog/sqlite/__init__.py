"""The catalog in one SQLite file: the reference backend, for one machine."""
