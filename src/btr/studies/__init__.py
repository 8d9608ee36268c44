"""What a reranker is worth: settings tuned, and the paper's tables and figures as one report."""
