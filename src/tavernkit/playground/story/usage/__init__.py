"""What replies have used: tokens and cost, prices of models, and daily limits."""
