"""Real JavaScript to compare with."""

import json
from typing import Any

import quickjs

_CONTEXT = quickjs.Context()
_CONTEXT.eval(
    "function run(body, json) { return JSON.stringify(new Function('x', 'return ' + body)(JSON.parse(json))); }"
)
_RUN = _CONTEXT.get("run")


def javascript(expression: str, x: object) -> Any:
    """What the expression gives for `x`."""
    return json.loads(_RUN(expression, json.dumps(x)))
