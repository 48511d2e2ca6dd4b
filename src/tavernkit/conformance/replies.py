"""What is done to replies: regex scripts, the whole cleaning and its parts, stopping strings, and thoughts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

from tavernkit.conformance.macro_cases import case_environment
from tavernkit.conformance.vectors import Case, Outcome, compare, replay_of
from tavernkit.macros.variables import Variables
from tavernkit.reading import ReportBuilder
from tavernkit.sillytavern.cleanup import (
    clean_reply,
    collapse_newlines,
    fix_markdown,
    trim_to_end_sentence,
    trim_to_start_sentence,
)
from tavernkit.sillytavern.macros.engine import ParserMacros
from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.presets import ReasoningTemplate
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.sillytavern.reasoning import (
    ChatThought,
    PromptReasoning,
    ReasoningPrefix,
    ReasoningStream,
    StreamedReply,
    format_reasoning,
    parse_reasoning,
    receive_reply,
    remove_reasoning,
    returned_reasoning,
)
from tavernkit.sillytavern.regex_scripts import (
    Placement,
    RegexScript,
    RegexScripts,
    apply_scripts,
    embedded_scripts,
    macro_expander,
    run_script,
)
from tavernkit.sillytavern.settings import ReasoningSettings, read_user_settings
from tavernkit.sillytavern.stopping_strings import stopping_strings
from tavernkit.text.js_strings import utf16_length
from tavernkit.values import Json

_ENGINE = ParserMacros("1.15")
_NEWEST_ENGINE = ParserMacros("1.19")


def check(case: Case) -> Outcome:
    """Replay one case of cleaning or reasoning: it names its function, or the kind of case that it is."""
    replay = replay_of(_REPLAYS, case.get("fn") or case.get("group"))
    return case["expected"], replay(case)


def check_regex_scripts(case: Case) -> Outcome:
    """The text that our scripts make, and the variables."""
    env = case["env"]
    variables = Variables(env.get("local_vars"), env.get("global_vars"))
    environment = Environment(user_name=env["user"], character_name=env["char"], variables=variables)
    text = _replay_scripts(case, environment)
    return compare(case, {"expected": text}, vars_after=variables.snapshot())


def _replay_scripts(case: Case, environment: Environment) -> str:
    # What is no text becomes an empty one before any script sees it.
    text = case["text"] if isinstance(case["text"], str) else ""
    params, placement = case.get("params", {}), case.get("placement")
    override, depth = params.get("characterOverride"), params.get("depth")
    expand = macro_expander(_NEWEST_ENGINE, environment)
    if case["call"] == "runRegexScript":
        (script,) = _scripts([case["script"]])
        return run_script(script, text, expand=expand, character_override=override)
    if placement is None:
        return text
    return apply_scripts(
        text,
        _in_use(case),
        placement,
        expand=expand,
        is_prompt=bool(params.get("isPrompt")),
        is_markdown=bool(params.get("isMarkdown")),
        is_edit=bool(params.get("isEdit")),
        # One that is given as text, or as true, is no depth, and no script asks for it.
        depth=depth if type(depth) is int else None,
        character_override=override,
    )


def _in_use(case: Case) -> RegexScripts:
    if case.get("extension_disabled"):
        return RegexScripts()
    scripts, allowed = case["scripts"], case["allowed"]
    return RegexScripts(
        global_=_scripts(scripts["global"]),
        preset=_scripts(scripts["preset"]) if allowed["preset"] else (),
        scoped=_scripts(scripts["scoped"]) if allowed["scoped"] else (),
    )


def _scripts(listed: list[Json]) -> tuple[RegexScript, ...]:
    return embedded_scripts({"regex_scripts": listed})


def _stops(case: Case) -> list[str]:
    args, chat = case["args"], case.get("chat", [])
    return list(
        stopping_strings(
            read_user_settings(case["settings"]).value,
            user_name=case["user"],
            character_name=case["char"],
            group_names=case.get("group_members", ()),
            is_impersonate=args.get("isImpersonate", False),
            is_continue=args.get("isContinue", False),
            last_is_user=bool(chat) and chat[-1].get("is_user", False),
            api=_api(case),
            expand=_expand(case),
        )
    )


def _clean(case: Case) -> str:
    args = case["args"]
    expand = macro_expander(_ENGINE, case_environment({"user": case["user"], "char": case["char"]}))
    is_impersonate = args.get("isImpersonate", False)
    given = args.get("stoppingStrings")
    return clean_reply(
        args["getMessage"],
        settings=read_user_settings(case["settings"]).value,
        user_name=case["user"],
        character_name=case["char"],
        group_names=case.get("group_members", ()),
        is_impersonate=is_impersonate,
        is_continue=args.get("isContinue", False),
        stopping_strings=_stops(case) if given is None else given,
        api=_api(case),
        expand=expand,
        apply_regex=partial(
            apply_scripts,
            scripts=RegexScripts(global_=embedded_scripts({"regex_scripts": case.get("regex_scripts", [])})),
            placement=Placement.USER_INPUT if is_impersonate else Placement.AI_OUTPUT,
            expand=expand,
        ),
        add_bias=args.get("includeUserPromptBias", True),
        trim_names=args.get("trimNames", True),
        trim_wrong_names=args.get("trimWrongNames", True),
        keep_unfinished_sentence=args.get("displayIncompleteSentences", False),
    )


def _api(case: Case) -> Literal["chat", "text"]:
    return "chat" if case["main_api"] == "openai" else "text"


def _expand(case: Case) -> Callable[[str], str]:
    environment = case_environment({"user": case["user"], "char": case.get("speaker", case["char"])})
    return lambda text: _ENGINE.expand(text, environment)


def _template(case: Case) -> ReasoningTemplate:
    return decode(ReasoningTemplate, case["template"], ReportBuilder())


def _settings(case: Case) -> ReasoningSettings:
    return decode(ReasoningSettings, case["reasoning_settings"], ReportBuilder())


def _parse(case: Case) -> Json:
    strict = case.get("strict", True)
    parsed = parse_reasoning(case["text"], _template(case), strict=strict, trim_spaces=case["trim_spaces"])
    return None if parsed is None else {"reasoning": parsed.reasoning, "content": parsed.content}


def _remove(case: Case) -> Json:
    return remove_reasoning(case["text"], _settings(case), trim_spaces=case["trim_spaces"])


def _continued(case: Case) -> ReasoningPrefix | None:
    begun = case.get("continue_prefix")
    if begun is None:
        return None
    prompt = PromptReasoning(_settings(case), expand=_expand(case))
    prompt.add(begun["content"], begun["reasoning"], continued=True)
    return prompt.prefix


def _stream(case: Case) -> Json:
    stream = ReasoningStream(_settings(case), trim_spaces=case["trim_spaces"], continues=_continued(case))
    steps = [{**_seen(reply), "type": reply.origin} for reply in map(stream.update, case["partials"])]
    return {"steps": steps, "final": _seen(stream.finish())}


def _seen(reply: StreamedReply) -> dict[str, Json]:
    return {"mes": reply.content, "reasoning": reply.reasoning, "state": str(reply.state)}


def _received(case: Case) -> Json:
    message = case["message"]
    extra = message.get("extra", {})
    continued = _continued(case) if case["event"] == "received" else None
    reply = receive_reply(
        message["mes"],
        _settings(case),
        known=extra.get("reasoning"),
        known_origin=extra.get("reasoning_type"),
        unfinished=continued.unfinished if continued else "",
        trim_spaces=case["trim_spaces"],
    )
    return {"mes": reply.content, "reasoning": reply.reasoning, "reasoning_type": reply.origin}


def _add_to_message(case: Case) -> Json:
    prompt = PromptReasoning(_settings(case), expand=_expand(case))
    steps = []
    for step in case["steps"]:
        before = prompt.limit_reached
        output = prompt.add(step["content"], step["reasoning"], continued=step["is_prefix"])
        steps.append(
            {
                "limit_reached_before": before,
                "output": output,
                "counter": prompt.count,
                "limit_reached_after": prompt.limit_reached,
                "without_prefix": prompt.prefix.removed_from(output),
            }
        )
    return {
        "steps": steps,
        "prefix_length": utf16_length(prompt.prefix.formatted) or -1,
        "prefix_incomplete": prompt.prefix.open,
        "latest_prefix": prompt.prefix.unfinished,
    }


def _format(case: Case) -> Json:
    formatted = format_reasoning(case["reasoning"], case["content"], _template(case), expand=_expand(case))
    return {"formatted": formatted, "contentOnly": case["content"]}


def _prompt(case: Case) -> Json:
    in_group = "group_members" in case
    visible = [line for line in case["chat"] if not line.get("is_system")]
    chat = [
        ChatThought(
            content=line["mes"],
            name=line.get("name") or (case["user"] if line["is_user"] else case["char"]),
            reasoning=line.get("extra", {}).get("reasoning", ""),
        )
        for line in visible
    ]
    contents = returned_reasoning(
        chat,
        PromptReasoning(_settings(case), expand=_expand(case)),
        is_continue=case["type"] == "continue",
        speaker=case["speaker"] if in_group else None,
    )
    messages = []
    for line, thought, content in zip(visible, chat, contents, strict=True):
        named = in_group and not line["is_user"]
        messages.append(
            {
                "role": "user" if line["is_user"] else "assistant",
                "content": f"{thought.name}: {content}" if named else content,
            }
        )
    return {"history_messages": messages}


_REPLAYS: Mapping[str, Callable[[Case], Json]] = {
    "cleanUpMessage": _clean,
    "getStoppingStrings": _stops,
    "fixMarkdown": lambda case: fix_markdown(case["args"]["text"], for_display=case["args"].get("forDisplay", False)),
    "trimToEndSentence": lambda case: trim_to_end_sentence(case["args"]["input"]),
    "trimToStartSentence": lambda case: trim_to_start_sentence(case["args"]["input"]),
    "collapseNewlines": lambda case: collapse_newlines(case["args"]["x"]),
    "parse": _parse,
    "parse_template": _parse,
    "remove": _remove,
    "stream": _stream,
    "received": _received,
    "add_to_message": _add_to_message,
    "format": _format,
    "prompt": _prompt,
}
