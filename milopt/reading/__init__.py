"""Programs read from files: MPS, LP and CBF."""
