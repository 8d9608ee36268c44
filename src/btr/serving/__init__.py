"""The corrector as a web page and an HTTP API, batched across all who ask."""
