"""Everything the person sees: pages, streams, the files behind them, and what protects them."""
