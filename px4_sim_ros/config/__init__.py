"""Parameters of a run: schema, loading, vehicles, missions, resources."""
