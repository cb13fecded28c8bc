"""Is the store whole? Every file against what the catalog says of it, and what is derived against it too."""
