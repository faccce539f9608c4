"""The command line `affine`."""
