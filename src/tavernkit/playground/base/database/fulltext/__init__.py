"""The lexical index: which tokens a text has, what a query matches, and the rows of the index on both databases."""
