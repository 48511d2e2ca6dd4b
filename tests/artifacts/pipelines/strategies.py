"""Profiles of any shape: steps that ask a model, depend on each other, fail, and write what they have heard."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.artifacts.pipelines.builders import Source, fleeting, kept, pipeline, profile, step

from tavernkit.artifacts.pipelines import Profile

TOLD = {"visibility": "prompt_only", "promptInclusion": {"mode": "append_after_last_user"}}
PROMPT = (
    "{{ lastUserMessage }}|{% for tag in tags %}{{ art[tag].value }},{{ art[tag].history.size }},{{ run[tag] }};"
    "{% endfor %}{% assign l = '1 2 3 4 5 6 7 8 9' | split: ' ' %}{{ l | sample }}"
)


@st.composite
def profiles(draw: st.DrawFn, *, failing: bool = True) -> Profile:
    """Steps named by their place; a template's variable `tags` lists every tag there is."""
    hooks = [draw(st.lists(st.integers(0, 3), min_size=1, max_size=4)) for _ in range(2)]
    names = [f"{hook}{place}" for hook, orders in zip("ba", hooks, strict=True) for place in range(len(orders))]
    ids = dict(zip(names, draw(st.permutations(names)), strict=True))
    tags = [f"t{name}" for name in sorted(names)]
    prompt = PROMPT.replace("tags", "all").replace(
        "{{ lastUserMessage }}", "{% assign all = '" + " ".join(tags) + "' | split: ' ' %}{{ lastUserMessage }}"
    )
    steps: list[Source] = []
    for hook, orders, word in zip("ba", hooks, ("before", "after"), strict=True):
        for place, order in enumerate(orders):
            name = f"{hook}{place}"
            needs = [ids[f"{hook}{other}"] for other in range(place) if draw(st.booleans())]
            stored = draw(st.booleans())
            rules = TOLD if stored or word == "before" else {}
            one = kept(f"t{ids[name]}", **rules) if stored else fleeting(f"t{ids[name]}", **rules)
            required = draw(st.integers(0, 4)) == 0
            fields: Source = {"dependsOn": needs, "order": order, "required": required, "artifacts": [one]}
            fails = failing and draw(st.integers(0, 5)) == 0
            steps.append(step(ids[name], "llm", word, prompt="fail" if fails else prompt, **fields))
    cut = draw(st.integers(0, 1))
    extra = [step("w", "message_transform", template="{{ lastUserMessage }}!")] if cut else []
    return profile(pipeline(*steps, id="p"), pipeline(*extra, id="q"))
