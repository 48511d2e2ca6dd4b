"""Who is in a space and may do what there; what is locked before it is changed."""
