"""Which texts share words with a query: BM25 over stems, in memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise
from typing import NamedTuple, Protocol

from tavernkit.text.words import LONGEST_TOKEN, PARTS, fold


class RecallHit(NamedTuple):
    """A text that was found. The score is between 0 and 1: 1 is as good as the method can say."""

    key: str
    score: float


class LexicalIndex(Protocol):
    """Finds texts by words; best first, and of equals the one that was added last."""

    def search(self, query: str, limit: int) -> Sequence[RecallHit]: ...


K1, B = 1.2, 0.75

_EVERYDAY_WORDS = """
a about after all an and any are as at be been before but by can could did do does for from get go had has have he
her him his how i if in into is it its just me my no not of on or our out she so than that the their them then there
they this to up us was we were what when where which who whom whose why will with would you your also every had many
may might more most much must nor now only other really same shall should some still such these those too very while
s t re ve ll d m а без бы был была были было в вам вас во вот все вы где да для до его ее если есть еще же за и из
или им их к как какая какие какой какую ко когда кого кому которая которую который которые куда ли мне мы на над не
него нее нет ни них но о об он она они от по под почему при про с сколько со так там то того тоже только ты у уже
чей чем что чтобы чья это этот я
"""
_EVERYDAY_RUNS = """
什么 哪里 哪个 哪儿 谁的 为什 怎么 多少 几个 です ます した して から ない どこ だれ なに 何を 誰が 誰の いつ
"""
_RUSSIAN_ENDINGS = """
иями ями ами иям иях ях ах ям ам ией ьей ей ой ий ый ая яя ое ее ие ые ого его ому ему ыми ими ых их ую юю ью ия ию
ии ом ем ов ев а я о е и ы у ю ь й ться тся лась лись лось лся ать ять ить еть ал ала али ало ил ила или ило ел ела
ели ело ает яет ует ают яют уют ит ят ет ешь ишь ем им ла ло ли л
"""
_IRREGULAR_FORMS = """
began/begin begun/begin bit/bite bitten/bite bled/bleed blew/blow blown/blow bought/buy bound/bind broke/break
broken/break brought/bring built/build burnt/burn came/come caught/catch children/child chose/choose chosen/choose
crept/creep drank/drink drawn/draw drew/draw driven/drive drove/drive drunk/drink eaten/eat ate/eat fallen/fall
fed/feed feet/foot fell/fall felt/feel flew/fly flown/fly forgot/forget forgotten/forget fought/fight found/find
froze/freeze frozen/freeze gave/give given/give goes/go gone/go went/go grew/grow grown/grow heard/hear held/hold
hid/hide hidden/hide hung/hang kept/keep knew/know known/know laid/lay led/lead left/leave lent/lend lives/life
lost/lose made/make meant/mean men/man met/meet mice/mouse paid/pay ran/run rang/ring rode/ride risen/rise rose/rise
said/say sang/sing sank/sink sat/sit saw/see seen/see sent/send shook/shake shot/shoot shown/show slept/sleep
sold/sell sought/seek spent/spend spoke/speak spoken/speak stole/steal stolen/steal stood/stand struck/strike
stuck/stick sung/sing swam/swim swore/swear sworn/swear taken/take taught/teach teeth/tooth thought/think
threw/throw thrown/throw told/tell took/take tore/tear torn/tear understood/understand wept/weep woke/wake
women/woman won/win wore/wear worn/wear wound/wind written/write wrote/write
"""
_EVERYDAY = frozenset(_EVERYDAY_WORDS.split())
"""Words that say nothing about what a text is about. In a story they can be rare all the same, such as `whose`."""
_EVERYDAY_PAIRS = frozenset(_EVERYDAY_RUNS.split())

_ENDINGS = tuple(sorted(_RUSSIAN_ENDINGS.split(), key=len, reverse=True))
_IRREGULAR = dict(pair.split("/") for pair in _IRREGULAR_FORMS.split())


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The word without the commonest endings of English and Russian; what remains need not be a word."""
    word = _IRREGULAR.get(word, word)
    if len(word) < 4 or word[0].isdigit():
        return word
    if word.isascii():
        return _english(word)
    if "а" <= word[0] <= "я":
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                return word[: -len(ending)]
    return word


def _english(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiousl":
                word = word[:-1]
            break
    if word.endswith("y") and len(word) > 3:
        return word[:-1] + "i"
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def words_of(text: str) -> list[str]:
    """The words of a text that say something, folded, and the pairs of characters that no spaces divide."""
    words: list[str] = []
    for match in PARTS.finditer(fold(text)):
        run, part = match[1], match[0]
        if run is None:
            if part not in _EVERYDAY:
                words.append(part[:LONGEST_TOKEN])
        elif len(run) == 1:
            words.append(run)
        else:
            words += [pair for pair in map("".join, pairwise(run)) if pair not in _EVERYDAY_PAIRS]
    return words


def terms_of(text: str) -> list[str]:
    """The same as stems: what is compared."""
    return list(map(stem, words_of(text)))


class Bm25Index:
    """A `LexicalIndex` in memory. A score is the share of the best score that any text could have."""

    def __init__(self, texts: Iterable[tuple[str, str]] = ()) -> None:
        self._keys: list[str] = []
        self._lengths: list[int] = []
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._total = 0
        self._longer: list[float] = []
        for key, text in texts:
            self.add(key, text)

    def add(self, key: str, text: str) -> None:
        """Index one more text; a key is added once."""
        terms = Counter(terms_of(text))
        place, length = len(self._keys), terms.total()
        self._keys.append(key)
        self._lengths.append(length)
        self._total += length
        for term, count in terms.items():
            self._postings.setdefault(term, []).append((place, count))

    def search(self, query: str, limit: int) -> list[RecallHit]:
        wanted = dict.fromkeys(terms_of(query))
        scores: dict[int, float] = {}
        best = 0.0
        if len(self._longer) < len(self._keys):
            average = self._total / len(self._keys)
            self._longer = [K1 * (1 - B + B * length / average) if average else K1 for length in self._lengths]
        longer = self._longer
        for term in wanted:
            postings = self._postings.get(term, ())
            weight = math.log(1 + (len(self._keys) - len(postings) + 0.5) / (len(postings) + 0.5))
            best += weight * (K1 + 1)
            for place, count in postings:
                scores[place] = scores.get(place, 0.0) + weight * count * (K1 + 1) / (count + longer[place])
        found = nlargest(limit, scores.items(), key=lambda item: (item[1], item[0]))
        return [RecallHit(self._keys[place], score / best) for place, score in found]
