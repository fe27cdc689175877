"""The screens of the console, a module for each."""
