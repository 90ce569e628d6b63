"""What comes back: results, certificates, statuses, polish."""
