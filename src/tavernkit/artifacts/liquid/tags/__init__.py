"""The tags of LiquidJS, a module for each kind."""

from tavernkit.artifacts.liquid.tags.conditions import CaseTag, IfTag, UnlessTag
from tavernkit.artifacts.liquid.tags.loops import BreakTag, ContinueTag, CycleTag, ForTag, TableRowTag
from tavernkit.artifacts.liquid.tags.partials import BlockTag, IncludeTag, LayoutTag, RenderTag
from tavernkit.artifacts.liquid.tags.texts import (
    CommentTag,
    ContentTag,
    EchoTag,
    LineCommentTag,
    LiquidTag,
    OutputTag,
    RawTag,
    UnknownTag,
)
from tavernkit.artifacts.liquid.tags.variables import AssignTag, CaptureTag, DecrementTag, IncrementTag

__all__ = ["TAGS"]

TAGS = (
    AssignTag,
    BlockTag,
    BreakTag,
    CaptureTag,
    CaseTag,
    CommentTag,
    ContentTag,
    ContinueTag,
    CycleTag,
    DecrementTag,
    EchoTag,
    ForTag,
    IfTag,
    IncludeTag,
    IncrementTag,
    LayoutTag,
    LineCommentTag,
    LiquidTag,
    OutputTag,
    RawTag,
    RenderTag,
    TableRowTag,
    UnknownTag,
    UnlessTag,
)
