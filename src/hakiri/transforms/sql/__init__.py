"""Spark SQL text as plan nodes: what is verified is what runs, and no text is left for Spark to parse."""

from hakiri.transforms.sql.errors import BadSql
from hakiri.transforms.sql.parsing import expression_plan, query_plan, type_plan
from hakiri.transforms.sql.replacing import without_sql_text

__all__ = ["BadSql", "expression_plan", "query_plan", "type_plan", "without_sql_text"]
