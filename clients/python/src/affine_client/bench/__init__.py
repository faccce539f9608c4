"""The load test of `affine bench`."""
