"""Asking the store in SQL: one connection for a person, over the views that are there now. Never Spark.

Nothing here loads pyarrow: an answer is there in little more than the time that DuckDB itself takes to load.
"""
