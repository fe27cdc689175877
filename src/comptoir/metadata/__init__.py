"""What the model and the tables of settings and errors say of themselves, as documents."""
