"""blockjacobi._core for the manual, which does not compile it: classes of the same names, members and documentation, read
from the bindings in python/src. A test of the Python package holds them against the compiled ones."""

import inspect
import re
import types

CLASS = re.compile(r'nb::class_<[\w:, ]+>\(\s*module,\s*"(\w+)"')
MEMBER = re.compile(r"\.(def_static|def_prop_ro|def_ro|def)\(")
LITERAL = r'R"\((?s:.*?)\)"|"(?:[^"\\\n]|\\.)*"'
TOKEN = re.compile(rf"//[^\n]*|{LITERAL}|'(?:[^'\\]|\\.)+'|[][(){{}},;]|[^][(){{}},;\"'/R]+|.", re.DOTALL)
ARGUMENT = re.compile(r'nb::arg\("(\w+)"\)(?:\.none\(\))?(?:\s*=\s*(.+))?')
VALUES = {"nb::none()": None, "true": True, "false": False}


def arguments_at(text, begin):
    """The arguments of a call, of which `begin` is the place after the bracket, and the place after its end."""
    arguments, depth, at = [""], 1, begin
    while True:
        token = TOKEN.match(text, at)[0]
        at += len(token)
        depth += (token in "([{") - (token in ")]}")
        if depth == 0:
            return [argument.strip() for argument in arguments if argument.strip()], at
        if token == "," and depth == 1:
            arguments.append("")
        elif not token.startswith("//"):
            arguments[-1] += token


def string(argument):
    """The value of an argument of nothing but literals, else None."""
    if not re.fullmatch(rf"(?:(?:{LITERAL})\s*)+", argument):
        return None
    return "".join(part[3:-2] if part.startswith("R") else re.sub(r"\\(.)", r"\1", part[1:-1])
                   for part in re.findall(LITERAL, argument))


def member(kind, name, arguments):
    """A stand-in of a method or property."""
    document = string(arguments[-1]) if len(arguments) > 2 else None
    if kind in ("def_ro", "def_prop_ro"):
        return property(lambda self: None, doc=document)

    def stand_in(*args, **kwargs):
        raise NotImplementedError

    first = [] if kind == "def_static" else [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    named = [match for match in map(ARGUMENT.fullmatch, arguments) if match]
    stand_in.__signature__ = inspect.Signature(first + [
        inspect.Parameter(match[1], inspect.Parameter.POSITIONAL_OR_KEYWORD,
                          default=inspect.Parameter.empty if match[2] is None
                          else VALUES[match[2]] if match[2] in VALUES else int(match[2])) for match in named])
    stand_in.__name__, stand_in.__doc__ = name, document
    return staticmethod(stand_in) if kind == "def_static" else stand_in


def classes_of(text):
    """Those that one source binds."""
    for found in CLASS.finditer(text):
        arguments, at = arguments_at(text, text.index("(", found.start()) + 1)
        body = {"__doc__": string(arguments[2]) if len(arguments) > 2 else None, "__module__": "blockjacobi"}
        while match := MEMBER.match(text, re.compile(r"\s*").match(text, at).end()):
            members, at = arguments_at(text, match.end())
            name = string(members[0])
            if name and not name.startswith("_"):
                body[name] = member(match[1], name, members)
        yield type(found[1], (), body)


def module(root):
    core = types.ModuleType("blockjacobi._core")
    for path in sorted((root / "python" / "src").glob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        for item in classes_of(text):
            setattr(core, item.__name__, item)
        for name, rest in re.findall(r'module\.def\("(\w+)",([^;]*);', text):
            def function():
                raise NotImplementedError

            function.__name__, function.__module__ = name, "blockjacobi"
            function.__doc__ = "".join(string(part) for part in re.findall(r'"[^"]*"(?=\s*\))', rest))
            setattr(core, name, function)
    core.__version__, core.metis_available = "", True
    return core
