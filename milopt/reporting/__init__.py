"""Reports: one self-contained HTML page of fits, comparisons, evaluations and rankings."""
