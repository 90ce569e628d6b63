"""Outcomes of a solve: results, certificates, statuses and polishing."""
