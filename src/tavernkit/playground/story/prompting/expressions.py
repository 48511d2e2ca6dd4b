"""Which of a character's emotions a reply shows: the one that it names, or the one that the model says.

A reply names an emotion as RisuAI asks for it, `<Emotion="joy">`; a variable of the story may name it; or the text has
its name, or words that go with it. The words are English, and of the emotions that SillyTavern's pictures are named by.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping

from tavernkit import Message
from tavernkit.playground.base.llm.base import Finished, ModelError
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.paths.pictures import Expression, emotion_called
from tavernkit.playground.story.paths.state import State, fold
from tavernkit.playground.story.paths.variables import VARIABLES
from tavernkit.playground.story.prompting.building import BuiltPrompt, step_request
from tavernkit.playground.story.prompting.replies import HeardReply, StoredReply
from tavernkit.playground.story.usage.ledger import Meter, Purpose
from tavernkit.playground.story.usage.limits import OverLimitError

ASKED_SECONDS = 20.0
ASKED_CHARACTERS = 4_000

NEUTRAL = ("neutral", "default", "normal", "idle")
NAMING_VARIABLES = ("expression", "emotion")

_TAG = re.compile(r"""<Emotion="(.+?)">|\{\{emotion::?([^{}]+)\}\}""", re.IGNORECASE)
_WORDS: Mapping[str, str] = {
    "admiration": "admir\\w* wonderful impressive marvel\\w* awe",
    "amusement": "amus\\w* chuckl\\w* giggl\\w* laugh\\w* snort\\w* smirk\\w*",
    "anger": "angr\\w* fur(y|ious) rage\\w* snarl\\w* shout\\w* growl\\w* glar\\w* yell\\w* seeth\\w*",
    "annoyance": "annoy\\w* irritat\\w* scowl\\w* grumbl\\w* huff\\w* eye-?roll\\w* exasperat\\w*",
    "approval": "nod(s|ded|ding)? approv\\w* agree\\w*",
    "caring": "gentl[ey]\\w* comfort\\w* tender\\w* soothe\\w* caress\\w*",
    "confusion": "confus\\w* puzzl\\w* bewilder\\w* baffl\\w* perplex\\w*",
    "curiosity": "curio\\w* wonder(s|ing) intrigu\\w* tilt\\w* interested",
    "desire": "desir\\w* longing\\w* yearn\\w* lust\\w* crav\\w*",
    "disappointment": "disappoint\\w* sigh\\w* deflat\\w* let-?down",
    "disapproval": "disapprov\\w* frown\\w* tsk",
    "disgust": "disgust\\w* revolt\\w* grimac\\w* gag\\w* repuls\\w*",
    "embarrassment": "embarrass\\w* blush\\w* fluster\\w* sheepish\\w* flush\\w*",
    "excitement": "excit\\w* thrill\\w* eager\\w* bounc\\w* squeal\\w*",
    "fear": "fear\\w* afraid scared terrif\\w* trembl\\w* pale\\w* horrif\\w* dread\\w*",
    "gratitude": "grateful\\w* thank\\w* gratitude appreciat\\w*",
    "grief": "grie[fv]\\w* mourn\\w* sob\\w* wail\\w*",
    "joy": "joy\\w* happ(y|ily|iness) smil\\w* grin\\w* beam\\w* delight\\w* cheer\\w* glad\\w*",
    "love": "lov(e|es|ed|ing|ingly) ador\\w* kiss\\w* embrac\\w* affection\\w* darling",
    "nervousness": "nervous\\w* anxious\\w* fidget\\w* stammer\\w* uneas\\w* worr(y|ied|ies)\\w*",
    "optimism": "hope\\w* optimis\\w* bright\\w*",
    "pride": "proud\\w* pride triumph\\w*",
    "realization": "realiz\\w* realis\\w* dawn(s|ed) understand(s|ing)",
    "relief": "relie[fv]\\w* exhal\\w* relax\\w*",
    "remorse": "sorry regret\\w* remorse\\w* guilt\\w* apolog\\w* asham\\w*",
    "sadness": "sad(ly|ness|dened)? tear(s|y|ful\\w*) cr(y|ies|ied|ying) weep\\w* sorrow\\w* wept melanchol\\w*",
    "surprise": "surpris\\w* gasp\\w* startl\\w* astonish\\w* shock\\w* wide-?eyed stunned",
}


async def choose_expression(
    runtime: Runtime, prompt: BuiltPrompt, reply: StoredReply, emotions: Mapping[str, str], purpose: Purpose
) -> tuple[Expression | None, Finished | None]:
    """The emotion beside a reply; and what asking for it has used, where the model was asked."""
    inputs = prompt.inputs
    named = named_emotion(reply.text, fold(inputs.state, (reply.state_delta,)), emotions)
    used: Finished | None = None
    if named is None and inputs.settings.display.expressions == "model":
        named, used = await _asked(runtime, prompt, reply.text, emotions, purpose)
    name = named or guessed_emotion(reply.text, emotions)
    return (None if name is None else Expression(name=name, sha256=emotions[name])), used


def named_emotion(text: str, state: State, emotions: Collection[str]) -> str | None:
    """The emotion that a reply says it shows, the last one if there are several; or that a variable names."""
    tags = [emotion_called(one or other) for one, other in _TAG.findall(text)]
    said = [str(state.get(VARIABLES + name, "")) for name in NAMING_VARIABLES]
    return next((name for name in (*reversed(tags), *map(emotion_called, said)) if name in emotions), None)


def guessed_emotion(text: str, emotions: Collection[str]) -> str | None:
    """The emotion whose name, or words that go with it, the text has most often; else the face of every day."""
    scores = {name: _score(name, text) for name in emotions if name not in NEUTRAL}
    best = max(scores, key=lambda name: scores[name], default=None)
    if best is not None and scores[best] > 0:
        return best
    return next((name for name in NEUTRAL if name in emotions), None)


def _score(name: str, text: str) -> int:
    words = _WORDS.get(name, "").split()
    named = len(re.findall(rf"\b{re.escape(name)}\b", text, re.IGNORECASE))
    return 3 * named + (len(re.findall(rf"\b(?:{'|'.join(words)})\b", text, re.IGNORECASE)) if words else 0)


async def _asked(
    runtime: Runtime, prompt: BuiltPrompt, text: str, emotions: Mapping[str, str], purpose: Purpose
) -> tuple[str | None, Finished | None]:
    """What the model of the story says; nothing where it does not answer in time, or something else, or where a budget
    has no room for the question."""
    provider = prompt.inputs.provider
    question = step_request(
        provider,
        [
            Message(
                role="system",
                content="Name the emotion that the speaker of the message shows at its end. "
                f"Answer with one of these words and nothing else: {', '.join(emotions)}.",
            ),
            Message(role="user", content=text[-ASKED_CHARACTERS:]),
        ],
        sampling={"temperature": 0, "max_tokens": 256},
    )
    heard = HeardReply()
    try:
        async with asyncio.timeout(ASKED_SECONDS):
            meter = Meter(runtime, purpose, question, most_tokens=provider.response_tokens)
            await heard.listen(runtime, provider, question, meter)
    except (TimeoutError, ModelError, OverLimitError):
        return None, heard.finished
    said = heard.text.lower()
    found = [name for name in emotions if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said)]
    return max(found, key=len, default=None), heard.finished
