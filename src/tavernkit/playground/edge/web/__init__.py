"""What all routes share: requests, rendering, assets, security, limits of bodies."""
