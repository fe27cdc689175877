"""The web console: pages to watch, try and administer the service with."""
