"""What needs torch: the decoder, its training and its comparison. Imported by `run` alone."""
