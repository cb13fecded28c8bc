"""The context store: a documented directory of Parquet that anyone can read."""
