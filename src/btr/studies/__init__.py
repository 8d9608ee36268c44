"""Studies: from a plan to the paper's tables and figures, as one report."""
