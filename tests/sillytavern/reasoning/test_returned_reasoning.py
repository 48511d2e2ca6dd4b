"""Thoughts that go back to the model."""

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.sillytavern.presets import ReasoningTemplate
from tavernkit.sillytavern.reasoning import ChatThought, PromptReasoning, format_reasoning, returned_reasoning
from tavernkit.sillytavern.settings import ReasoningSettings

MUSE = ReasoningSettings(prefix="<", suffix=">", separator=" ", add_to_prompts=True, max_additions=1)
CHAT = (
    ChatThought(name="Zed", content="u1"),
    ChatThought(name="Mira", content="a1", reasoning="r1"),
    ChatThought(name="Pell", content="a2", reasoning="r2"),
    ChatThought(name="Zed", content="u2"),
)


def test_the_newest_thoughts_are_returned_up_to_the_limit() -> None:
    assert returned_reasoning(CHAT, PromptReasoning(MUSE)) == ("u1", "a1", "<r2> a2", "u2")
    assert returned_reasoning(CHAT, PromptReasoning(MUSE.with_(max_additions=5))) == ("u1", "<r1> a1", "<r2> a2", "u2")


def test_nothing_is_returned_when_it_is_switched_off_or_none_are_allowed() -> None:
    for settings in (MUSE.with_(add_to_prompts=False), MUSE.with_(max_additions=0), MUSE.with_(max_additions=-1)):
        assert returned_reasoning(CHAT, PromptReasoning(settings)) == ("u1", "a1", "a2", "u2")


def test_in_a_group_only_the_speaker_gets_thoughts_back() -> None:
    assert returned_reasoning(CHAT, PromptReasoning(MUSE), speaker="Mira") == ("u1", "<r1> a1", "a2", "u2")


def test_the_message_that_is_continued_always_keeps_its_thoughts() -> None:
    prompt = PromptReasoning(MUSE.with_(add_to_prompts=False))
    assert returned_reasoning(CHAT[:3], prompt, is_continue=True) == ("u1", "a1", "<r2> a2")
    assert prompt.prefix.removed_from("<r2> a2") == "a2"
    assert prompt.prefix.unfinished == ""


def test_a_continued_message_of_thoughts_alone_is_left_open() -> None:
    prompt = PromptReasoning(MUSE)
    assert returned_reasoning((ChatThought(content="", reasoning="hm"),), prompt, is_continue=True) == ("<hm",)
    assert prompt.prefix.unfinished == "<hm"


def test_a_placeholder_for_hidden_thoughts_is_not_sent() -> None:
    prompt = PromptReasoning(MUSE)
    assert prompt.add("a", "\u200b") == "a"
    assert prompt.count == 0


def test_macros_of_the_template_are_expanded_and_those_of_thoughts_are_not() -> None:
    prompt = PromptReasoning(MUSE.with_(prefix="{{char}}: "), expand=lambda text: text.replace("{{char}}", "Mira"))
    assert prompt.add("c", "{{char}}") == "Mira: {{char}}> c"


def test_scripts_get_the_depth_of_each_message() -> None:
    prompt = PromptReasoning(MUSE.with_(max_additions=9))
    returned = returned_reasoning(CHAT[:3], prompt, apply_regex=lambda text, depth: f"{text}@{depth}")
    assert returned == ("u1", "<r1@1> a1", "<r2@0> a2")
    prompt = PromptReasoning(MUSE)
    returned = returned_reasoning(CHAT[:3], prompt, is_continue=True, apply_regex=lambda text, depth: f"{text}@{depth}")
    assert returned == ("u1", "a1", "<r2@-1> a2")


def test_formatting_needs_thoughts_and_a_whole_template() -> None:
    template = ReasoningTemplate(prefix="<", suffix=">", separator=" ")
    assert format_reasoning("r", "c", template) == "<r> c"
    assert format_reasoning("", "c", template) == "c"
    assert format_reasoning("r", "c", template.with_(suffix="")) == "c"


thoughts = st.builds(ChatThought, content=st.sampled_from(["", "x"]), reasoning=st.sampled_from(["", "r", "\u200b"]))


@given(st.lists(thoughts, max_size=8), st.integers(-1, 9), st.booleans())
def test_those_that_get_thoughts_back_are_the_newest_that_have_any(
    chat: list[ChatThought], limit: int, is_continue: bool
) -> None:
    prompt = PromptReasoning(MUSE.with_(max_additions=limit))
    returned = returned_reasoning(chat, prompt, is_continue=is_continue)
    changed = [place for place, message in enumerate(chat) if returned[place] != message.content]
    thinking = [place for place, message in enumerate(chat) if message.reasoning == "r"]
    allowed = max(limit, int(is_continue and thinking[-1:] == [len(chat) - 1]), 0)
    assert changed == thinking[len(thinking) - min(allowed, len(thinking)) :]
