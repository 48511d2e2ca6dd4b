"""Texts of several scripts that have much in common, and queries that find some of them."""

from hypothesis import strategies as st

WORDS = (
    *("key", "keys", "Keyboard", "silver", "SILVER", "éclair", "Eclair", "e\u0301clair", "don't", "a", "x", "C-3PO"),
    *("ключ", "Ключи", "ключами", "ёлка", "Елка", "й"),
    *("钥匙", "图书馆", "图书", "书馆", "钥", "図書館", "としょかん", "がぎ", "かき", "ガ", "ｶﾞ", "도서관에서", "서관"),
    *("🔑", "👩‍💻", "👩💻", "❤️", "❤", "½", "Straße", "strasse", "ＡＢＣ", "हिन्दी", "ห้องสมุด"),
)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).flatmap(
    lambda words: st.sampled_from((" ", "", ", ", "-", "\n")).map(lambda between: between.join(words))
)
"""At most six words, joined by what divides words in one script and not in another."""

_part = st.sampled_from(WORDS).flatmap(
    lambda word: st.integers(0, len(word) - 1).flatmap(
        lambda start: st.integers(start + 1, len(word)).map(lambda end: word[start:end])
    )
)
_phrase = texts.map(lambda text: '"' + text.replace('"', "") + '"')
queries = st.lists(st.sampled_from(WORDS) | _part | _phrase, min_size=1, max_size=2).map(" ".join)
