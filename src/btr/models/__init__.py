"""The bidirectional T5, and loading models by name, folder or hub id."""
