"""A closed-loop load test: a set of callers, each sending its next request after an answer."""
