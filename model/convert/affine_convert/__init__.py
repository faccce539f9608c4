"""Makes checkpoints for Affine Serve from public ones."""
