"""The corrector as a web page and an HTTP API; requests of all clients are batched."""
