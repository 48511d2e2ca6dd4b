"""Which effects run while a text is about to be shown, or a request about to be sent; in other modes all do."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.risuai.triggers.result import TriggerMode

_HARMLESS = frozenset(
    {
        *("v2SetVar", "v2DeclareLocalVar", "v2Random", "v2Calculate", "v2Comment", "v2ConsoleLog"),
        *("v2If", "v2IfAdvanced", "v2Else", "v2EndIndent", "v2LoopNTimes", "v2BreakLoop", "v2StopTrigger"),
        *("v2ExtractRegex", "v2RegexTest", "v2SplitString", "v2ConcatString", "v2JoinArrayVar"),
        *("v2GetCharAt", "v2SetCharAt", "v2GetCharCount", "v2ToLowerCase", "v2ToUpperCase"),
        *("v2MakeArrayVar", "v2GetArrayVarLength", "v2GetArrayVar", "v2SetArrayVar", "v2PushArrayVar", "v2PopArrayVar"),
        *("v2ShiftArrayVar", "v2UnshiftArrayVar", "v2SpliceArrayVar", "v2SliceArrayVar"),
        *("v2GetIndexOfValueInArrayVar", "v2RemoveIndexFromArrayVar"),
    }
)

ALLOWED_EFFECTS: Mapping[TriggerMode, frozenset[str]] = {
    "display": _HARMLESS | {"v2GetDisplayState", "v2SetDisplayState"},
    "request": _HARMLESS
    | {
        "v2GetRequestState",
        "v2SetRequestState",
        "v2GetRequestStateRole",
        "v2SetRequestStateRole",
        "v2GetRequestStateLength",
    },
}
