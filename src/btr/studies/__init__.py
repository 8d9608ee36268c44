"""Studies: from a plan to the paper's tables and figures, as one report."""

BEA_SENTENCES = 4477  # of the BEA-19 test set
