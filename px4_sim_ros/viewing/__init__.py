"""What viewers show of a vehicle and its flight; it needs neither running nodes nor a window."""
