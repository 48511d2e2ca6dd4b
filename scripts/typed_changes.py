"""A plugin for mypy: `value.with_(name=…)` takes the fields of that value, each with its own type."""

from collections.abc import Callable

from mypy.expandtype import expand_type_by_instance
from mypy.plugin import MethodSigContext, Plugin
from mypy.types import CallableType, FunctionLike, Instance, TypeVarType, get_proper_type

# What mypy itself keeps with every dataclass, and every class like one, to check `dataclasses.replace`.
FIELDS = "__mypy-replace"


def _fields_as_arguments(context: MethodSigContext) -> FunctionLike:
    of = get_proper_type(context.type)
    if isinstance(of, TypeVarType):
        of = get_proper_type(of.upper_bound)
    fields = of.type.get_method(FIELDS) if isinstance(of, Instance) else None
    if fields is None or not isinstance(of, Instance) or not isinstance(fields.type, CallableType):
        return context.default_signature
    arguments = expand_type_by_instance(fields.type, of)
    return context.default_signature.copy_modified(
        arg_types=arguments.arg_types, arg_kinds=arguments.arg_kinds, arg_names=arguments.arg_names
    )


class TypedChanges(Plugin):
    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        return _fields_as_arguments if fullname.endswith(".with_") else None


def plugin(_version: str) -> type[Plugin]:
    return TypedChanges
