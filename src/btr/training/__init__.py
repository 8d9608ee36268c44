"""Training: synthetic pairs to start from."""
