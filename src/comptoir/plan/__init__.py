"""Plans: requests bound to the model, with their names resolved and their types checked."""
