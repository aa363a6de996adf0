"""Reading PTX: a module's text becomes variables and functions of plain instructions.

The grammar is that of NVIDIA's "PTX ISA". Names declared in nested scopes are made unique here, so
that the translator sees one flat list per function.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from cupool.pool_server.devices.ptx.errors import PtxError

SIZES = {
    "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4,
    "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4, "tf32": 4, "b64": 8, "u64": 8, "s64": 8,
    "f64": 8, "f32x2": 8, "b128": 16, "pred": 1,
}  # fmt: skip
"""Bytes of each fundamental type."""

LEAST_OPERANDS = dict.fromkeys("abs bra call cvt cvta ld mov neg not red st".split(), 2) | (
    dict.fromkeys("add and atom div max min mul or rem setp shl shr sub xor".split(), 3)
    | {"bra": 1, "call": 1, "fma": 4, "mad": 4, "selp": 4}
)
"""Operands of the instructions that are looked at before they are translated."""

MAX_REGISTERS = 200_000


@dataclass(slots=True)
class Variable:
    """A variable of a state space; `count` is None for an array without a size."""

    name: str
    space: str
    type: str
    count: int | None
    alignment: int
    init: str = ""
    line: int = 0
    external: bool = False

    @property
    def size_bytes(self) -> int:
        return SIZES[self.type] * (self.count or 0)


@dataclass(slots=True)
class Instruction:
    """`@guard opcode.modifiers operands;`"""

    opcode: str
    modifiers: tuple[str, ...]
    operands: list[str]
    line: int
    guard: str = ""
    negated: bool = False
    place: tuple[int, int] = (0, 0)

    @property
    def text(self) -> str:
        name = ".".join((self.opcode, *self.modifiers))
        return f"{name} {', '.join(self.operands)}".strip()

    @property
    def types(self) -> list[str]:
        return [m for m in self.modifiers if m in SIZES]


@dataclass(slots=True)
class Label:
    name: str
    line: int


@dataclass(slots=True)
class Function:
    """An .entry or .func; `registers` maps names to types."""

    name: str
    is_entry: bool
    line: int
    returns: list[Variable] = field(default_factory=list)
    parameters: list[Variable] = field(default_factory=list)
    bounds: dict[str, tuple[int, ...]] = field(default_factory=dict)
    body: list[Instruction | Label] | None = None
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    targets: dict[str, list[str]] = field(default_factory=dict)
    prototypes: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)


@dataclass(slots=True)
class Program:
    """A PTX module."""

    version: tuple[int, int] = (0, 0)
    target: str = ""
    files: dict[int, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)


_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.S)
_LINKAGE = r"(?:\.(?:visible|extern|weak|common|alias)\s+)*"
_FUNCTION = re.compile(_LINKAGE + r"\.(entry|func)\b")
_LINE = re.compile(r"\.(version|target|address_size|file|section|loc)\b[^\n;]*")
_VARIABLE = re.compile(
    r"(?P<linkage>(?:\.(?:extern|visible|weak|common)\s+)*)\.(?P<space>global|const|shared|local|param|reg)"
    r"(?P<attributes>(?:\s*\.(?:align\s+\d+|managed|attribute\s*\([^)]*\)|ptr|(?:global|const|shared|local|"
    r"volatile)(?=[\s.])))*)\s*(?:\.(?P<vector>v[24]))?\s*\.(?P<type>\w+)\s*(?P<attributes2>(?:\s*\.(?:align\s+\d+|ptr|"
    r"global|const|shared|local)\b)*)\s*(?P<name>[\w$%.]+)\s*(?P<array>(?:\[\s*\d*\s*\]\s*)*)(?:=\s*(?P<init>.*))?$",
    re.S,
)
_STATEMENT = re.compile(r"\s*(?:([{}])|([\w$%]+)\s*:(?!:)|((?:[^;{}]|\{[^;{}]*\})*);)")
_GUARD = re.compile(r"@(!?)\s*([\w$%]+)\s+(.*)$", re.S)
_LONG_NUMBER = re.compile(r"[0-9a-fA-F]{200}")
_NAME = re.compile(r"[A-Za-z_$%][\w$]*")


def split_operands(text: str) -> list[str]:
    """Split at commas that no bracket holds together."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        elif char == "," and not depth:
            parts.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


class Parser:
    """Reads one module."""

    def __init__(self, text: str) -> None:
        def blank(match: re.Match[str]) -> str:
            found = match.group(0)
            return found if found[0] == '"' else re.sub(r"[^\n]", " ", found)

        self.text = _COMMENT.sub(blank, text)
        self._starts = [m.end() for m in re.finditer("\n", self.text)]
        self.program = Program()

    def line(self, position: int) -> int:
        return bisect_right(self._starts, position) + 1

    def error(self, message: str, position: int) -> PtxError:
        return PtxError(message, self.line(position))

    def parse(self) -> Program:
        text, position = self.text, 0
        long = _LONG_NUMBER.search(text)
        if long:
            raise self.error("a number is too long", long.start())
        while True:
            while position < len(text) and text[position] in " \t\r\n;":
                position += 1
            if position >= len(text):
                break
            position = self._top_level(position)
        if self.program.version == (0, 0):
            raise PtxError("no .version directive: this is not PTX", 1)
        return self.program

    def _top_level(self, position: int) -> int:
        text = self.text
        line = _LINE.match(text, position)
        if line:
            if line.group(1) == "section":
                end = text.find("}", position)
                return len(text) if end < 0 else end + 1
            self._directive(line.group(1), line.group(0))
            return line.end()
        if _FUNCTION.match(text, position):
            return self._function(position)
        end = text.find(";", position)
        if end < 0:
            raise self.error(f"not PTX: {text[position : position + 60].strip()!r}", position)
        statement = text[position:end].strip()
        if not statement.startswith((".pragma", ".alias")):
            variable = self._variable(statement, position)
            known = self.program.variables.get(variable.name)
            if known is None or known.external:
                self.program.variables[variable.name] = variable
        return end + 1

    def _directive(self, name: str, text: str) -> None:
        if name == "version":
            found = re.search(r"(\d+)\.(\d+)", text)
            if found:
                self.program.version = int(found.group(1)), int(found.group(2))
        elif name == "target":
            self.program.target = text.removeprefix(".target").strip()
        elif name == "file":
            found = re.match(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"', text)
            if found:
                self.program.files[int(found.group(1))] = found.group(2)
        elif name == "address_size" and "64" not in text:
            raise PtxError("only 64-bit PTX can be run", 1)

    def _variable(self, text: str, position: int) -> Variable:
        found = _VARIABLE.match(text)
        if not found or found["type"] not in SIZES:
            if ".texref" in text or ".samplerref" in text or ".surfref" in text:
                raise self.error(f"textures are not emulated: {text[:60]}", position)
            raise self.error(f"declaration not understood: {' '.join(text[:80].split())}", position)
        size = SIZES[found["type"]]
        align = re.search(r"\.align\s+(\d+)", found["attributes"])
        count: int | None = int(found["vector"][1]) if found["vector"] else 1
        for extent in re.findall(r"\[\s*(\d*)\s*\]", found["array"]):
            count = count * int(extent) if extent and count is not None else None
        if count is None and found["init"]:
            count = len(split_operands(found["init"].strip().strip("{}")))
        return Variable(
            found["name"],
            found["space"],
            found["type"],
            count,
            int(align.group(1))
            if align
            else size * (int(found["vector"][1]) if found["vector"] else 1),
            found["init"] or "",
            self.line(position),
            "extern" in found["linkage"],
        )

    def _function(self, position: int) -> int:
        text = self.text
        end = position
        while end < len(text) and text[end] not in "{;":
            end += 1
        if end >= len(text):
            raise self.error("a function has no end", position)
        function = self._header(text[position:end], position)
        if text[end] == ";":
            self.program.functions.setdefault(function.name, function)
            return end + 1
        close, depth = end + 1, 1
        for found in re.compile(r"[{}]").finditer(text, end + 1):
            depth += 1 if found.group() == "{" else -1
            if not depth:
                close = found.start()
                break
        else:
            raise self.error(f"the body of {function.name} has no end", end)
        Body(self, function).parse(end + 1, close)
        self.program.functions[function.name] = function
        return close + 1

    def _header(self, text: str, position: int) -> Function:
        found = re.match(
            _LINKAGE + r"\.(entry|func)\s*(?:\(([^()]*)\))?\s*([\w$]+)\s*(?:\(([^()]*)\))?\s*(.*)$",
            text,
            re.S,
        )
        if not found:
            raise self.error(
                f"function header not understood: {' '.join(text[:80].split())}", position
            )
        kind, returns, name, parameters, rest = found.groups()
        function = Function(name, kind == "entry", self.line(position))
        function.returns = [self._variable(p, position) for p in split_operands(returns or "") if p]
        function.parameters = [
            self._variable(p, position) for p in split_operands(parameters or "") if p
        ]
        for bound, values in re.findall(
            r"\.(maxntid|reqntid|minnctapersm|maxnreg|maxclusterrank)\s+([\d,\s]+)", rest
        ):
            function.bounds[bound] = tuple(int(v) for v in re.findall(r"\d+", values))
        return function


class Body:
    """Reads the body of one function."""

    def __init__(self, parser: Parser, function: Function) -> None:
        self.parser = parser
        self.function = function
        self.scopes: list[dict[str, str]] = [{}]
        self.count = 0
        self.place = (0, 0)

    def parse(self, position: int, end: int) -> None:
        text = self.parser.text
        self.function.body = []
        while True:
            position = self._locations(position, end)
            found = _STATEMENT.match(text, position, end)
            if not found:
                if text[position:end].strip():
                    raise self.parser.error(
                        f"not PTX: {text[position:end].strip()[:60]!r}", position
                    )
                break
            brace, label, statement = found.groups()
            start = found.start(3) if statement is not None else position
            if brace == "{":
                self.scopes.append(self._labels(found.end(), end))
            elif brace == "}":
                self.scopes.pop()
            elif label:
                self._label(label, found, end)
            elif statement.strip():
                start += len(statement) - len(statement.lstrip())
                self._statement(statement.strip(), start)
            position = found.end()

    def _label(self, label: str, found: re.Match[str], end: int) -> None:
        assert self.function.body is not None
        rest = self.parser.text[found.end() : end].lstrip()
        if rest.startswith(".callprototype"):
            self._prototype(self.rename(label), rest[: rest.index(";")])
        elif rest.startswith((".branchtargets", ".calltargets")):
            names = rest[: rest.index(";")].split(None, 1)[1]
            self.function.targets[self.rename(label)] = [
                self.rename(n) for n in split_operands(names)
            ]
        else:
            self.function.body.append(Label(self.rename(label), self.parser.line(found.start())))

    def _locations(self, position: int, end: int) -> int:
        """Pass over what ends with its line: .loc and .pragma of debugging."""
        text = self.parser.text
        while True:
            while position < end and text[position].isspace():
                position += 1
            if not text.startswith((".loc", ".file"), position) or text.startswith(
                ".local", position
            ):
                return position
            stop = text.find("\n", position, end)
            line = text[position : stop if stop >= 0 else end]
            found = re.match(r"\.loc\s+(\d+)\s+(\d+)", line)
            if found:
                self.place = int(found.group(1)), int(found.group(2))
            position = end if stop < 0 else stop

    def _labels(self, position: int, end: int) -> dict[str, str]:
        """Labels of a nested scope are its own: they get new names before their first use."""
        names: dict[str, str] = {}
        depth = 0
        for found in re.compile(r"[{}]|(?<![\w$%])([A-Za-z_$%][\w$]*)\s*:(?!:)").finditer(
            self.parser.text, position, end
        ):
            if found.group() == "{":
                depth += 1
            elif found.group() == "}":
                depth -= 1
                if depth < 0:
                    break
            elif not depth:
                self.count += 1
                names[found.group(1)] = f"{found.group(1)}.{self.count}"
        return names

    def rename(self, text: str) -> str:
        if len(self.scopes) == 1:
            return text

        def unique(match: re.Match[str]) -> str:
            name = match.group(0)
            for scope in reversed(self.scopes):
                if name in scope:
                    return scope[name]
            return name

        return _NAME.sub(unique, text)

    def _declare(self, name: str) -> str:
        if len(self.scopes) == 1:
            return name
        self.count += 1
        self.scopes[-1][name] = f"{name}.{self.count}"
        return self.scopes[-1][name]

    def _statement(self, text: str, position: int) -> None:
        if text[0] == ".":
            return self._declaration(text, position)
        guard, negated = "", False
        found = _GUARD.match(text)
        if found:
            guard, negated, text = self.rename(found.group(2)), bool(found.group(1)), found.group(3)
        head, _, rest = text.replace("\n", " ").replace("\t", " ").partition(" ")
        opcode, *modifiers = head.split(".")
        operands = split_operands(self.rename(rest))
        if len(operands) < LEAST_OPERANDS.get(opcode, 0):
            raise self.parser.error(f"operands are missing: {text[:60]!r}", position)
        assert self.function.body is not None
        self.function.body.append(
            Instruction(
                opcode,
                tuple(modifiers),
                operands,
                self.parser.line(position),
                guard,
                negated,
                self.place,
            )
        )

    def _declaration(self, text: str, position: int) -> None:
        if text.startswith(
            (".pragma", ".callprototype", ".branchtargets", ".calltargets", ".maxnctapersm")
        ):
            return
        if text.startswith(".reg"):
            found = re.match(r"\.reg\s*(?:\.(v[24])\s*)?\.(\w+)\s+(.*)$", text, re.S)
            if not found or found.group(2) not in SIZES:
                raise self.parser.error(f"declaration not understood: {text[:60]}", position)
            for name in split_operands(found.group(3)):
                self._registers(name, found.group(2), position)
            return
        variable = self.parser._variable(text, position)
        variable.name = self._declare(variable.name)
        self.function.variables[variable.name] = variable

    def _registers(self, name: str, type_: str, position: int) -> None:
        found = re.match(r"([\w$%]+)\s*<(\d+)>$", name)
        if found and len(self.function.registers) + int(found.group(2)) > MAX_REGISTERS:
            raise self.parser.error("too many registers", position)
        names = [f"{found.group(1)}{i}" for i in range(int(found.group(2)))] if found else [name]
        for each in names:
            self.function.registers[self._declare(each)] = type_

    def _prototype(self, name: str, text: str) -> None:
        found = re.match(r"\.callprototype\s*(?:\(([^()]*)\))?\s*_\s*(?:\(([^()]*)\))?", text)
        if found:
            sizes = [
                [
                    self.parser._variable(re.sub(r"\b_(?=\s*(\[|$))", "p", p.strip()), 0).size_bytes
                    for p in split_operands(part or "")
                    if p
                ]
                for part in found.groups()
            ]
            self.function.prototypes[name] = (sizes[0], sizes[1])


def parse(text: str) -> Program:
    """Read a module.

    Raises:
        PtxError: the text is not PTX, or uses what is not emulated; it names the line.
    """
    return Parser(text).parse()
