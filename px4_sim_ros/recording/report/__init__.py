"""Reports: plots and pages."""
