"""What was asked: text to syntax, knowing no model."""
