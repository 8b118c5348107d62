"""What can be wrong with bytes, and whose fault it is.

ProtocolError
├── RemoteProtocolError        the peer sent what the protocol forbids: close that connection
│   ├── TruncatedError         the bytes end before the layout does
│   └── ForeignProtocolError   the peer speaks something else (HTTP/2, TLS, …)
├── LocalProtocolError         we were asked to send what cannot be sent
└── HeaderError                a well-framed request whose header Java's processor would choke on
    ├── NullFieldError         a field that did not arrive was read (NullPointerException)
    ├── NumberFormatError      a text is no number (NumberFormatException)
    ├── IllegalArgumentError   a text has not the parts it should (IllegalArgumentException)
    └── BodyError              a body is not the JSON it should be (JSONException)
        └── NullBodyError      it is null, or a field that must be there is (NullPointerException)
"""

from __future__ import annotations


class ProtocolError(Exception):
    """Base of everything this package raises."""


class RemoteProtocolError(ProtocolError):
    """The peer broke the protocol; its connection is closed."""


class TruncatedError(RemoteProtocolError):
    """The bytes end before the layout does."""


class ForeignProtocolError(RemoteProtocolError):
    """The peer speaks another protocol; the text says which and where it belongs."""


class LocalProtocolError(ProtocolError):
    """We were asked to send what the protocol cannot carry."""


class HeaderError(ProtocolError):
    """A request's custom header cannot be used; Java's processor throws, the answer is code 1."""


class NullFieldError(HeaderError):
    """A header field that did not arrive was read; Java's NullPointerException."""

    def __init__(self, header: str, field: str) -> None:
        super().__init__(f"{header}.{field} is null")
        self.header = header
        self.field = field


class NumberFormatError(HeaderError):
    """A text is no number; Java's NumberFormatException."""

    def __init__(self, text: str, problem: str | None = None) -> None:
        super().__init__(problem or f'For input string: "{text}"')


class IllegalArgumentError(HeaderError):
    """A text has not the parts it should have; Java's IllegalArgumentException."""


class BodyError(HeaderError):
    """A body is not what its request code says; Java's JSONException in the processor."""


class NullBodyError(BodyError, NullFieldError):
    """A body says null, or a field of it that must be there is; Java's NullPointerException."""

    def __init__(self, bean: str, field: str = "") -> None:
        BodyError.__init__(self, f"{bean}.{field} is null" if field else f"{bean} is null")
        self.header = bean
        self.field = field
