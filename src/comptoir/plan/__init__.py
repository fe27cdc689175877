"""What a request means: syntax and model together, names bound and types checked."""
