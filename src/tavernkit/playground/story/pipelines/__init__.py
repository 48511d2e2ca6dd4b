"""Pipeline profiles: keeping them in versions, choosing where each is followed, and running their steps."""
