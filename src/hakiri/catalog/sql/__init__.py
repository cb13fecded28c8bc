"""The contract on SQL: every role once, for all databases that speak it."""
