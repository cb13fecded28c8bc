"""Words that every room shares. No input or output, and nothing of ours is imported here."""
