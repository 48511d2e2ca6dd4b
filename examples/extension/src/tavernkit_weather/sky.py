"""What the weather is like: always the same at one place, so that a story can be told again."""

SKIES = ("fog", "sleet", "a red sky", "warm rain", "no wind at all")


def sky_over(place: str) -> str:
    return SKIES[sum(place.encode()) % len(SKIES)]
