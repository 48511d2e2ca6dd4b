"""Every error the core raises.

TavernKitError
├── InvalidCardError              a character card that cannot be understood
├── UnsupportedVersionError       a card or file of a version nobody here reads
├── ParseError                    a file that is damaged, too large or not what it claims to be
│   ├── PngParseError
│   ├── ArchiveParseError
│   ├── LoreParseError
│   └── PresetParseError
├── InvalidPresetError            a file that is no preset, or a preset with a field of an impossible value
├── PngWriteError                 a picture that cannot carry a card
├── StrictModeError               a warning, raised because the build is strict
├── PipelineError                 an exception inside a stage; `.stage` says which
├── TokenBudgetExceeded           what must stay does not fit; `.budget` and `.actual`
├── MissingInputError             a build without something it cannot do without (also a ValueError)
├── UnknownDialectError           a dialect that is not registered (also a ValueError)
├── DialectError                  messages that a provider's format cannot express
├── LoadHookError                 a load hook that failed; the exception itself is the `__cause__`
├── ExtensionError                an extension that cannot be loaded; says which, and why
├── InvalidEmbeddingsError        an answer of an embedding server that has not what was asked for
├── RegexError                    a regular expression that cannot be understood; `.source` and `.flags`
│   └── RegexTimeout              one that used up its time or memory
├── LiquidError                   a template that cannot be used; `.line` and `.column` say where
│   ├── LiquidSyntaxError         … that cannot be read
│   └── LiquidRenderError         … that failed while it was rendered
│       └── LiquidLimitError      … that costs too much
├── ArtifactError                 something about an artifact; every one has a `.code`
│   ├── InvalidArtifactError      a definition that contradicts itself, or content of the wrong type
│   ├── ArtifactConflict          a write that was worked out from a version that is no longer the latest
│   ├── ArtifactPolicyError       a write that its pipeline may not make
│   └── JsonPatchError            a JSON patch that cannot be read or does not fit
├── InvalidProfileError           a profile of pipelines that cannot be used
├── StepFailed                    a step of a pipeline that cannot do its work; `.code` says why
└── RunInProgress                 a run that was asked for twice and has not ended; `.run_id` is the first

The platform layers hang their own branches below TavernKitError:
`tavernkit.sillytavern.errors` and `tavernkit.risuai.errors`.
"""

from __future__ import annotations

from typing import ClassVar


class TavernKitError(Exception):
    """The root of everything this package raises on purpose."""


class InvalidCardError(TavernKitError):
    """A character card that cannot be understood."""


class UnsupportedVersionError(TavernKitError):
    """A card or file whose version is known to exist but cannot be read here."""


class ParseError(TavernKitError):
    """A file that is damaged, too large, or not what it claims to be."""


class PngParseError(ParseError):
    """A PNG whose chunks cannot be walked or whose card chunk cannot be decoded."""


class ArchiveParseError(ParseError):
    """A CHARX or BYAF archive that is damaged, hostile or over a limit."""


class LoreParseError(ParseError):
    """A lorebook that cannot be read."""


class PresetParseError(ParseError):
    """A preset file that cannot be read."""


class InvalidPresetError(TavernKitError):
    """A file that is no preset, or a preset field of an impossible value."""


class PngWriteError(TavernKitError):
    """A picture that cannot carry a card."""


class StrictModeError(TavernKitError):
    """A warning that a strict build turned into an error; `code` is the warning's code."""

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class PipelineError(TavernKitError):
    """An exception inside a stage. The original is the `__cause__`."""

    def __init__(self, message: str, *, stage: str) -> None:
        super().__init__(f"{message} (stage: {stage})")
        self.stage = stage


class TokenBudgetExceeded(TavernKitError):  # noqa: N818 - the contract's name for it
    """What must stay in the prompt does not fit into the budget."""

    def __init__(self, *, budget: int, actual: int, advice: str = "") -> None:
        super().__init__(f"Token budget exceeded: {actual} > {budget}." + (f" {advice}" if advice else ""))
        self.budget = budget
        self.actual = actual


class MissingInputError(TavernKitError, ValueError):
    """A build was started without an input that it cannot do without."""


class UnknownDialectError(TavernKitError, ValueError):
    """No dialect of that name is registered."""


class InvalidEmbeddingsError(TavernKitError):
    """An answer of an embedding server that has not what was asked for; says what is wrong."""


class DialectError(TavernKitError):
    """Messages that a provider's format cannot express; says which message and why."""


class LoadHookError(TavernKitError):
    """A load hook that failed, at every use of what it should have completed. The original is the `__cause__`."""


class ExtensionError(TavernKitError):
    """An extension that cannot be loaded. The original is the `__cause__`."""


class RegexError(TavernKitError):
    """A regular expression that JavaScript would not understand, or that is too long to be tried."""

    def __init__(self, message: str, *, source: str, flags: str) -> None:
        super().__init__(message)
        self.source = source
        self.flags = flags


class RegexTimeout(RegexError):  # noqa: N818 - the name of what happened, as with TokenBudgetExceeded
    """A regular expression that used up its time or memory before it had an answer."""


class LiquidError(TavernKitError):
    """A Liquid template that cannot be used; `line` and `column` count from 1."""

    def __init__(self, message: str, *, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class LiquidSyntaxError(LiquidError):
    """A template that cannot be read."""


class LiquidRenderError(LiquidError):
    """A template that failed while it was rendered."""


class LiquidLimitError(LiquidRenderError):
    """A template that is too large, too deep or costs too much."""


class ArtifactError(TavernKitError):
    """Something about an artifact; `code` is stable and for programs."""

    code: ClassVar[str] = "artifact_error"


class InvalidArtifactError(ArtifactError):
    """A definition that contradicts itself or breaks a rule, or content that is not of the type it should be."""

    code = "artifact_invalid"


class ArtifactConflict(ArtifactError):  # noqa: N818 - the name of what happened, as with TokenBudgetExceeded
    """A write that was worked out from a version that is no longer the latest; nothing was written."""

    code = "artifact_conflict"

    def __init__(self, *, tag: str, based_on_version: int | None, latest_version: int | None) -> None:
        based = "no version" if based_on_version is None else f"version {based_on_version}"
        latest = "there is none yet" if latest_version is None else f"the latest is {latest_version}"
        super().__init__(f"art.{tag} was worked out from {based}, but {latest}. Read it again and repeat the step.")
        self.tag = tag
        self.based_on_version = based_on_version
        self.latest_version = latest_version


class ArtifactPolicyError(ArtifactError):
    """A write that its pipeline may not make: the tag is another's, or the permission is missing."""

    code = "artifact_policy_error"

    def __init__(self, message: str, *, tag: str) -> None:
        super().__init__(message)
        self.tag = tag


class JsonPatchError(ArtifactError):
    """A JSON patch that cannot be read, or that does not fit what it is applied to."""

    code = "json_patch_error"


class InvalidProfileError(TavernKitError):
    """A profile of pipelines that cannot be used; the message has a sentence for each problem, with its place."""


class StepFailed(TavernKitError):  # noqa: N818 - the name of what happened, as with TokenBudgetExceeded
    """A step of a pipeline that cannot do its work. Its sentence is shown to people: it must not quote content."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class RunInProgress(TavernKitError):  # noqa: N818 - the name of what happened, as with TokenBudgetExceeded
    """A run of pipelines with the idempotency key of another one, which has not ended."""

    def __init__(self, *, run_id: str) -> None:
        super().__init__(f"This run was asked for already and is under way as {run_id}. Wait for it, or stop it first.")
        self.run_id = run_id
