"""Measures affine_server beside its peers: see tests/bench/README.md."""
