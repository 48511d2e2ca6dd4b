"""Pipeline profiles: keeping them in versions, and choosing where each is followed."""
