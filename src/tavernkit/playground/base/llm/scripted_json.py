"""JSON that a scripted model answers with when it is held to a schema: small, always the same, and it counts on."""

from __future__ import annotations

import re

from tavernkit.values import Json, JsonObject


def json_sample(schema: JsonObject, question: str, key: str = "") -> Json:
    """A value that fits a plain schema. A whole number is one more than the same key last had in the question, so that
    whoever keeps a record sees it change; texts are named after their keys."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            properties: dict[str, JsonObject] = schema.get("properties", {})
            return {name: json_sample(part, question, name) for name, part in properties.items()}
        case "array":
            item: JsonObject = schema.get("items", {})
            return [json_sample(item, question, key)] * max(schema.get("minItems", 1), 1)
        case "integer" | "number":
            return _counted(schema, question, key)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return (f"some {key or 'words'}").ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]


def _counted(schema: JsonObject, question: str, key: str) -> int:
    least, most = schema.get("minimum", 1), schema.get("maximum")
    known = re.findall(rf'"{re.escape(key)}"\s*:\s*(-?\d{{1,9}})', question)
    number = max(int(known[-1]) + 1, int(least)) if known else int(least)
    return number if most is None else min(number, int(most))
