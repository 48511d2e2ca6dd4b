"""A turn of a long chat with much lore, from its parts to the final prompt, beside encoding that prompt once."""

import random
from collections.abc import Callable, Iterator
from functools import cache, partial

from tavernkit import Book, BuildHooks, Character, Entry, Message, Plan, User
from tavernkit.benchmarks import Benchmark, prepared
from tavernkit.history import InMemoryHistory
from tavernkit.lore.files import read_world_info, write_world_info
from tavernkit.prompt.tokens import ModelTokenEstimator
from tavernkit.prompt.tokens.encoding import load_vocabulary_encoding
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.sillytavern import AuthorsNote, Story, UserSettings, build
from tavernkit.sillytavern.presets import ChatPreset, ContextTemplate, Instruct, SystemPrompt, TextPreset
from tavernkit.sillytavern.scene import shared_macros, shared_world_info
from tavernkit.sillytavern.text_completion.story_template import parts_of_story
from tavernkit.sillytavern.world_info import WorldInfoSettings

MODEL = "gpt-4o"
MESSAGES = 1_000
ENTRIES = 500
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "il")]
WORDS = """
a about across afternoon again against almost along already although always an and another answer anybody are around
as ask at away back balcony be because been before behind below between bitter bread bridge broken brought but by
candle careful carried ceiling chair children city cloak close cold corner could courtyard crooked dark daughter deep
did door down dream each early east eleven else empty enough even evening ever every eyes face far father few finally
fire five floor for forgotten four from garden gate gave girl glass going grey grown had half hand hardly harbour has
have he hear heavy her here him his hold house how however if in inside into iron is it its journey just keep kitchen
knife knock know lantern last later laugh leave ledger left less letter light listen little long look made many market
me might mirror moment money more morning most mother mountain much must my name narrow near never new next night no
nobody nor north not nothing now of off often old on once one only open or other our out over own paper perhaps piece
place promise quiet quite rain rather really remember return river road room rope round sail said salt same saw say
sea second secret seem seven several shadow she ship should shoulder side silence silver since sister six slowly small
smile smoke snow so some something soon south stairs stand still stone stood storm story strange street such summer
sure table tell ten than that the their them then there these they thing think this those though thought three through
time to together told tomorrow too toward tower town tree turn twelve two uncle under until up upon us very village
voice wait walk wall was watch water we weather well went were west what when where whether which while whisper white
who whole why will wind window winter with without woman wonder word would write year yellow yes yet you young your
"""


def names(source: random.Random, count: int) -> list[str]:
    """Words that no vocabulary has as one token."""
    made: dict[str, None] = {}
    while len(made) < count:
        made["".join(source.choices(SYLLABLES, k=3)).capitalize()] = None
    return list(made)


class World:
    """A book whose entries speak of one another, and somebody who tells stories about it."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)
        self.words = WORDS.split()
        self.keys = [tuple(names(self.source, self.source.choice((2, 3)))) for _ in range(ENTRIES)]
        made = Book(name="World", entries=tuple(self.entry(number) for number in range(ENTRIES)))
        # As it comes from a file, with all of SillyTavern's fields.
        self.book = read_world_info(LooseObject(write_world_info(made), ReportBuilder()))

    def entry(self, number: int) -> Entry:
        content = f"{self.keys[number][0]}: {self.tell(30, 60)}"
        if number % 3 == 0:
            content += f" {{{{char}}}} has heard of {self.somebody()}."
        return Entry(id=str(number), keys=self.keys[number], content=content, insertion_order=number % 100)

    def message(self) -> str:
        """Forty to a hundred and twenty tokens, with three of the names that wake up lore."""
        return f"{self.tell(10, 30)} {self.somebody()}, {self.somebody()} and {self.somebody()} {self.tell(15, 60)}"

    def somebody(self) -> str:
        return self.source.choice(self.source.choice(self.keys))

    def tell(self, least: int, most: int) -> str:
        words = self.source.choices(self.words, k=self.source.randint(least, most))
        for place in range(5, len(words), 11):
            word = words[place]
            words[place] = self.source.choice((f"{word},", f"{word}.", f'"{word}"', "*nods*\n\n"))
        return f"{' '.join(words).capitalize()}."


class Chat:
    """A chat that goes on: with every turn it gains a message and a reply that nobody has counted yet."""

    def __init__(self, preset: ChatPreset | TextPreset) -> None:
        self.world = World(1)
        self.preset = preset
        self.character = Character(
            name="Ottoline",
            description="\n".join(f"{{{{char}}}} {self.world.tell(40, 80)}" for _ in range(4)),
            personality=self.world.tell(20, 40),
            scenario=f"{{{{user}}}} meets {{{{char}}}}. {self.world.tell(30, 50)}",
            mes_example="".join(
                f"<START>\n{{{{user}}}}: {self.world.tell(10, 20)}\n{{{{char}}}}: {self.world.tell(30, 60)}\n"
                for _ in range(3)
            ),
        )
        self.user = User(name="Zed", persona=f"{{{{user}}}} {self.world.tell(20, 40)}")
        self.story = Story(
            world_info=WorldInfoSettings(depth=4, recursive=True, match_whole_words=True),
            note=AuthorsNote(text=f"[{{{{char}}}}: {self.world.tell(10, 20)}]"),
            settings=UserSettings(
                instruct=Instruct(
                    enabled=True,
                    input_sequence="<|im_start|>user",
                    output_sequence="<|im_start|>assistant",
                    system_sequence="<|im_start|>system",
                    input_suffix="<|im_end|>\n",
                    output_suffix="<|im_end|>\n",
                    system_suffix="<|im_end|>\n",
                    stop_sequence="<|im_end|>",
                    names_behavior="always",
                ),
                context=ContextTemplate(
                    story_string=(
                        "{{#if system}}{{system}}\n{{/if}}{{#if wiBefore}}{{wiBefore}}\n{{/if}}"
                        "{{#if description}}{{description}}\n{{/if}}{{#if personality}}{{personality}}\n{{/if}}"
                        "{{#if scenario}}{{scenario}}\n{{/if}}{{#if wiAfter}}{{wiAfter}}\n{{/if}}"
                        "{{#if persona}}{{persona}}\n{{/if}}{{trim}}"
                    ),
                    example_separator="***",
                    chat_start="***",
                ),
                sysprompt=SystemPrompt(enabled=True, content="Write {{char}}'s next reply to {{user}}."),
            ),
        )
        self.history = InMemoryHistory(
            Message(role="assistant" if number % 2 else "user", content=self.world.message())
            for number in range(MESSAGES)
        )
        self.estimator = ModelTokenEstimator()

    def turn(self, hooks: BuildHooks | None = None, *, trace: bool = False) -> Plan:
        """Say something new and build the prompt for the reply."""
        said = self.world.message()
        plan = build(
            character=self.character,
            user=self.user,
            preset=self.preset,
            history=self.history,
            message=said,
            books=[self.world.book],
            story=self.story,
            model=MODEL,
            estimator=self.estimator,
            hooks=hooks,
            trace=trace,
        ).plan
        self.history.append(Message(role="user", content=said))
        self.history.append(Message(role="assistant", content=self.world.message()))
        return plan

    def traced_turn(self) -> Plan:
        """A turn whose prompt can be explained."""
        return self.turn(trace=True)

    def cold_turn(self) -> Plan:
        """A turn in a process that has built nothing yet; the vocabulary is loaded."""
        shared_macros.cache_clear()
        shared_world_info.cache_clear()
        parts_of_story.cache_clear()
        self.estimator = ModelTokenEstimator()
        return self.turn()


def encoding(plan: Plan) -> Callable[[], int]:
    """Encode all that is sent as one text."""
    text = "\n".join(message.content for message in plan.messages)
    vocabulary = load_vocabulary_encoding("o200k_base").encoding
    return lambda: len(vocabulary.encode_ordinary(text))


def benchmarks() -> Iterator[Benchmark]:
    for size, window in (("8k", 8_192), ("128k", 131_072)):
        presets: dict[str, ChatPreset | TextPreset] = {
            "chat": ChatPreset(openai_max_context=window, openai_max_tokens=500),
            "text": TextPreset(max_length=window, genamt=500),
        }
        for kind, preset in presets.items():
            chat = cache(partial(Chat, preset))
            baseline = prepared(lambda chat=chat: encoding(chat().turn()))
            for state, ours in (
                ("cold", prepared(lambda chat=chat: chat().cold_turn)),
                ("warm", prepared(lambda chat=chat: chat().turn)),
            ):
                yield Benchmark(
                    name=f"sillytavern {kind}, {size}, {state}",
                    ours=ours,
                    baseline=baseline,
                    note="encoding the final prompt once",
                )
            traced, plain = (cache(partial(Chat, preset)) for _ in range(2))
            yield Benchmark(
                name=f"sillytavern {kind}, {size}, traced",
                ours=prepared(lambda chat=traced: chat().traced_turn),
                baseline=prepared(lambda chat=plain: chat().turn),
                note="the same turn without a trace",
            )
