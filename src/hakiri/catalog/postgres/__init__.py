"""The catalog in Postgres, for as many machines as one likes."""
