"""The grammar of filter expressions, with the errors of the parser that JavaCC made of it.

It is written by hand for two reasons. Parser libraries read a text to its end, but Java stops at
the end of the first condition. And their errors are not those of Java.

From loose to tight binding: ``OR``; ``AND``; ``=``, ``<>`` and ``IS``; the other comparisons. A
comparison compares single operands, and ``NOT`` negates one. Any text may follow the condition. An
error lists all words that the parser has tried since it took the last word, as in Java.

5.5.0 also knows CONTAINS, STARTSWITH and ENDSWITH, and its errors list the words that it has looked
ahead for.

Source: filter/parser/SelectorParser.jj, SelectorParser.java, ParseException.java (4.9.7, 5.5.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from fakemq.broker.filters.sql_expressions import (
    And,
    BooleanCast,
    Constant,
    Equal,
    Expression,
    In,
    Long,
    Negate,
    Not,
    Or,
    Order,
    Property,
    Value,
    compare,
    java_text,
)
from fakemq.broker.filters.sql_tokens import (
    TEXT_CONDITIONS,
    FilterTooLongError,
    MQFilterError,
    Token,
    Tokens,
    WordKind,
    add_escapes,
    from_utf16_units,
)
from fakemq.broker.filters.text_conditions import TextCondition
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_long
from fakemq.protocol.java import parse_double

MAX_DEPTH = 100
"""Limit of nested operands. Java's stack holds 1,000 parentheses and 11,000 NOTs."""

MAX_WORDS = 10_000
"""Limit of words that are read, each as often as it is read: no other peer is answered meanwhile.
Java has no limit here, but its stack holds no filter of over 10,000 conditions."""

_PARSE_EXCEPTION = "org.apache.rocketmq.filter.parser.ParseException: "

_ORDERS = frozenset({WordKind.GREATER, WordKind.GREATER_EQUAL, WordKind.LESS, WordKind.LESS_EQUAL})
_COMPARISONS = _ORDERS | {WordKind.NOT, WordKind.BETWEEN, WordKind.IN}
_COMPARISONS_5 = _COMPARISONS | TEXT_CONDITIONS
_EQUALITIES = frozenset({WordKind.EQUAL, WordKind.NOT_EQUAL, WordKind.IS})
_LITERALS: dict[WordKind, Callable[[str], Value]]
_Words: TypeAlias = tuple[tuple[WordKind, ...], ...]


@lru_cache(maxsize=100)
def compile_sql(text: str, *, text_conditions: bool = False) -> Expression:
    """Return the condition at the beginning of ``text``, as 5.5.0 with ``text_conditions``.

    Raise MQFilterError. Differs: operands nest no deeper than `MAX_DEPTH`, and no more than
    `MAX_WORDS` words are read. Behind a plus that begins no operand, 5.5.0 lists pairs of words.
    The cache is as large as Java's.

    Source: filter/parser/SelectorParser.java#parse (4.9.7)
    """
    tokens = Tokens(text, text_conditions=text_conditions)
    parser = _Parser(tokens, text_conditions=text_conditions)
    try:
        condition = _as_condition(parser.expression())
        condition.terms = parser.terms
        return condition
    except RecursionError:  # in the text of a long chain of comparisons
        raise _stack_overflow() from None


class _Parser:
    """Recursive descent; each method is a production of the grammar and reads its words.

    With ``scanning`` the methods only read words; they make no expression.
    """

    def __init__(
        self, tokens: Tokens, at: int = 0, *, scanning: bool = False, text_conditions: bool = False
    ) -> None:
        self._tokens = tokens
        self._at = at
        self._scanning = scanning
        self._is_v5 = text_conditions
        self._comparisons = _COMPARISONS_5 if text_conditions else _COMPARISONS
        self._expected: set[WordKind] = set()
        self._depth = 0
        self.terms = 0
        """The number of operands."""

    # -- words --------------------------------------------------------------------------------

    def _next_is(self, kinds: frozenset[WordKind]) -> bool:
        if self._tokens[self._at].kind in kinds:
            return True
        self._expected |= kinds
        return False

    def _is_ahead(self, first: WordKind, second: WordKind) -> bool:
        # Java reads the second word only if the first one matches.
        tokens, at = self._tokens, self._at
        return tokens[at].kind is first and tokens[at + 1].kind is second

    def _take(self, kind: WordKind, *, ahead: _Words = ()) -> Token:
        token = self._tokens[self._at]
        if token.kind is not kind:
            raise self._unexpected(kind, ahead=ahead)
        self._tokens.taken += 1
        if self._tokens.taken > MAX_WORDS:
            raise FilterTooLongError(f"fakemq reads no filter of over {MAX_WORDS} words")
        self._at += 1
        self._expected.clear()
        return token

    def _unexpected(self, *wanted: WordKind, ahead: _Words = ()) -> MQFilterError:
        """Return the error; ``ahead`` are the words that 5.5.0 has looked ahead for, in its order.

        Source: ParseException.java#initialise (4.9.7), SelectorParser.java#jj_rescan_token (5.5.0)
        """
        line, column = self._tokens.place(self._tokens[self._at].at)
        expected = [kind.value for kind in WordKind if kind in self._expected.union(wanted)]
        if self._is_v5:
            expected += [" ".join(kind.value for kind in kinds) for kinds in ahead]
        else:
            ahead = ()
        encountered = " ".join(self._encountered(max([1, *map(len, ahead)])))
        return MQFilterError(
            f'{_PARSE_EXCEPTION}Encountered "{encountered}" at line {line}, column {column}.\n'
            f"Was expecting{' one of' if len(expected) > 1 else ''}:\n    "
            + "".join(f"{one} ...\n    " for one in expected)
        )

    def _encountered(self, count: int) -> Iterator[str]:
        for number in range(count):
            token = self._tokens[self._at + number]
            if token.kind is WordKind.EOF:
                yield token.kind.value
                return
            yield f' {token.kind.value} "{add_escapes(token.image)} "'

    def _make(self, make: Callable[..., Expression], *of: object) -> Expression:
        return _SCANNED if self._scanning else make(*of)

    # -- productions --------------------------------------------------------------------------

    def expression(self) -> Expression:
        left = self._and_expression()
        terms: list[Expression] = []
        while self._next_is(_OR):
            self._take(WordKind.OR)
            right = self._and_expression()
            terms += self._conditions([right] if terms else [left, right])
        return self._make(Or, terms) if terms else left

    def _and_expression(self) -> Expression:
        left = self._equality()
        terms: list[Expression] = []
        while self._next_is(_AND):
            self._take(WordKind.AND)
            right = self._equality()
            terms += self._conditions([right] if terms else [left, right])
        return self._make(And, terms) if terms else left

    def _conditions(self, terms: Sequence[Expression]) -> list[Expression]:
        return [self._make(_as_condition, term) for term in terms]

    def _equality(self) -> Expression:
        left = self._comparison()
        while self._next_is(_EQUALITIES):
            kind = self._tokens[self._at].kind
            if kind is WordKind.IS:
                negated = not self._is_ahead(WordKind.IS, WordKind.NULL)
                self._take(WordKind.IS)
                if negated:
                    self._take(WordKind.NOT, ahead=((WordKind.NULL,),))
                self._take(WordKind.NULL)
                left = self._make(_is_null, left, negated)
            else:
                self._take(kind)
                left = self._make(_equal, left, self._comparison(), kind is WordKind.NOT_EQUAL)
        return left

    def _comparison(self) -> Expression:
        left = self._operand()
        while self._next_is(self._comparisons):
            negated = self._tokens[self._at].kind is WordKind.NOT
            if negated:
                if not any(
                    self._is_ahead(WordKind.NOT, kind)
                    for _, kind in (_NEGATED_5 if self._is_v5 else _NEGATED)
                ):
                    raise self._unexpected(*self._comparisons - {WordKind.NOT}, ahead=_NEGATED_5)
                self._take(WordKind.NOT)
            kind = self._tokens[self._at].kind
            self._take(kind)
            if kind is WordKind.BETWEEN:
                low = self._operand()
                self._take(WordKind.AND)
                left = self._make(_between, left, low, self._operand(), negated)
            elif kind is WordKind.IN:
                left = self._make(_in, left, self._texts(), negated)
            elif kind in TEXT_CONDITIONS:
                symbol = f"{'NOT ' if negated else ''}{kind.name}"
                text = _string(self._take(WordKind.STRING).image)
                left = self._make(TextCondition, left, symbol, text)
            else:
                left = self._make(_order, left, kind.value.strip('"'), self._operand())
        return left

    def _texts(self) -> list[str]:
        self._take(WordKind.OPEN)
        texts = [_string(self._take(WordKind.STRING).image)]
        while self._next_is(_COMMA):
            self._take(WordKind.COMMA)
            texts.append(_string(self._take(WordKind.STRING).image))
        self._take(WordKind.CLOSE)
        return texts

    def _operand(self) -> Expression:
        self.terms += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _stack_overflow()
        operand = self._unary(self._tokens[self._at].kind)
        self._depth -= 1
        return operand

    def _unary(self, kind: WordKind) -> Expression:
        if kind is WordKind.PLUS and (self._scanning or self._is_operand_ahead()):
            self._take(kind)
            return self._operand()
        if kind is WordKind.MINUS:
            self._take(kind)
            return self._make(Negate, self._operand())
        if kind is WordKind.NOT:
            self._take(kind)
            return self._make(_not, self._operand())
        if kind is WordKind.OPEN:
            self._take(kind)
            inner = self.expression()
            self._take(WordKind.CLOSE)
            return inner
        if kind is WordKind.ID:
            return self._make(Property, self._take(kind).image)
        if kind in _LITERALS:
            return self._make(_literal, self._take(kind))
        raise self._unexpected(*_OPERANDS, ahead=((WordKind.PLUS,),))

    def _is_operand_ahead(self) -> bool:
        # An error behind a plus is reported at the plus itself, unless no word can be read there.
        scan = _Parser(self._tokens, self._at, scanning=True, text_conditions=self._is_v5)
        scan._depth = self._depth - 1
        try:
            scan._operand()
        except MQFilterError as error:
            if str(error).startswith(_PARSE_EXCEPTION):
                return False
            raise
        return True


_AND, _OR, _COMMA = (frozenset({kind}) for kind in (WordKind.AND, WordKind.OR, WordKind.COMMA))
_SCANNED = Expression()
_NEGATED: _Words = ((WordKind.NOT, WordKind.BETWEEN), (WordKind.NOT, WordKind.IN))
_NEGATED_5: _Words = (
    (WordKind.NOT, WordKind.CONTAINS),
    (WordKind.NOT, WordKind.STARTSWITH),
    (WordKind.NOT, WordKind.ENDSWITH),
    *_NEGATED,
)


# -- making ---------------------------------------------------------------------------------------


def _as_condition(value: Expression) -> Expression:
    if value.condition:
        return value
    if isinstance(value, Property):
        return BooleanCast(value)
    raise MQFilterError(f"{_PARSE_EXCEPTION}Expression will not result in a boolean value: {value}")


def _not(of: Expression) -> Expression:
    return Not(_as_condition(of))


def _equal(left: Expression, right: Expression, negated: bool) -> Expression:
    for side in (left, right):
        if isinstance(side, Constant) and side.value is None:
            raise _runtime_exception(f"'{side}' cannot be compared.")
    if (
        isinstance(left, Constant)
        and isinstance(right, Constant)
        and left.condition
        and not right.condition
    ):
        raise _runtime_exception(f"'{left}' cannot be compared with '{right}'")
    equal = Equal(left, right)
    return Not(equal) if negated else equal


def _is_null(of: Expression, negated: bool) -> Expression:
    is_null = Equal(of, Constant(None))
    return Not(is_null) if negated else is_null


def _order(left: Expression, symbol: str, right: Expression) -> Expression:
    for side in (left, right):
        if side.condition or (isinstance(side, Constant) and isinstance(side.value, str)):
            raise _runtime_exception(f"Value '{side}' cannot be compared.")
    return Order(left, symbol, right)


def _between(of: Expression, low: Expression, high: Expression, negated: bool) -> Expression:
    if negated:
        return Or([_order(of, "<", low), _order(of, ">", high)])
    if isinstance(low, Constant) and isinstance(high, Constant):
        if low.value is None or high.value is None:
            raise _runtime_exception("Illegal values of between, values can not be null!")
        if compare(high.value, low.value) < 0:
            raise _runtime_exception(
                f"Illegal values of between, left value({java_text(low.value)})"
                f" must less than or equal to right value({java_text(high.value)})"
            )
    return And([_order(of, ">=", low), _order(of, "<=", high)])


def _in(of: Expression, texts: Sequence[str], negated: bool) -> Expression:
    if not isinstance(of, Property):
        raise _runtime_exception(f"Expected a property for In expression, got: {of}")
    return In(of, texts, negated=negated)


def _stack_overflow() -> MQFilterError:
    return MQFilterError("java.lang.StackOverflowError")


def _runtime_exception(text: str) -> MQFilterError:
    return MQFilterError(f"java.lang.RuntimeException: {text}")


# -- literals -------------------------------------------------------------------------------------


def _literal(token: Token) -> Expression:
    return Constant(_LITERALS[token.kind](token.image))


def _decimal(image: str) -> int:
    try:
        value = parse_long(image.rstrip("lL"))
    except NumberFormatError as error:
        raise MQFilterError(f"java.lang.NumberFormatException: {error}") from error
    return value if value < 2**31 else Long(value)


def _floating_point(image: str) -> float:
    value = parse_double(image)
    if value == float("inf"):
        raise _runtime_exception(f"{image} is greater than 1.7976931348623157E308")
    if value == 0:
        raise _runtime_exception(f"{image} is less than 4.9E-324")
    return value


def _string(image: str) -> str:
    text = image[1:-1].replace("''", "'")
    return text if text.isascii() else from_utf16_units(text)


_LITERALS = {
    WordKind.STRING: _string,
    WordKind.DECIMAL: _decimal,
    WordKind.FLOATING_POINT: _floating_point,
    WordKind.TRUE: lambda _: True,
    WordKind.FALSE: lambda _: False,
    WordKind.NULL: lambda _: None,
}
_OPERANDS = frozenset({WordKind.NOT, WordKind.MINUS, WordKind.OPEN, WordKind.ID, *_LITERALS})
