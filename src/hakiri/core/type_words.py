"""What a value should have been, in words for a person, by the name that pydantic has for the error."""

from __future__ import annotations

from types import MappingProxyType

EXPECTED_TYPE = MappingProxyType(
    {
        "string_type": "a text",
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "float_type": "a number",
        "bool_type": "true or false",
        "tuple_type": "a list",
        "list_type": "a list",
        "dict_type": "a table",
        "model_type": "a table",
        "model_attributes_type": "a table",
    }
)
