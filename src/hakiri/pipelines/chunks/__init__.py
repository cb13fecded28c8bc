"""Chunks: how a table is cut, what is read next, what is read again, and how far it has come.

Decisions only. Nothing here reads a source, a clock or the catalog; times and facts come in as arguments.
"""
