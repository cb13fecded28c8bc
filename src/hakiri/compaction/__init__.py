"""Compaction: runs folded into snapshots, laid out for reading, and the files that may go after that."""
