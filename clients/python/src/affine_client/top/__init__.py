"""What a server is doing now, for `affine top`."""
