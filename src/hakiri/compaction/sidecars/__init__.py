"""Indexes that are built beside a snapshot: staged, made durable and committed with it, or not at all.

A kind of index is a class with the few methods of `Sidecar`; everything else is the same for all.
"""
