"""What an operator does to pipelines, beside running them: look, decide, rewind, and move cursors."""
