"""The `comptoir` command: a module for each subcommand, which is imported when it is called."""
