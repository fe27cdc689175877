"""`$apply` bound to a set: a pipeline of stages, and the page of its result."""
