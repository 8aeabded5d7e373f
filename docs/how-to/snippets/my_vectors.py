def embed(text: str) -> list[float]:
    """Counts letters, and stands here for a call of your model."""
    return [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]
