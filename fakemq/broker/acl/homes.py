"""Where a broker's rules are kept: files of YAML in a folder, or values in memory."""

from __future__ import annotations

import errno
import gc
import os
import re
from collections.abc import Mapping
from copy import deepcopy
from importlib.util import find_spec
from typing import Any, Protocol

from fakemq.broker.acl.errors import AclError, brief
from fakemq.errors import ConfigError, printable
from fakemq.files.regular import open_regular, require_regular, write_regular

_DEFAULT_FILE = os.path.join("conf", "plain_acl.yml")
_DEEPEST = 100
"""How deep the collections of a file may be nested; rules need three."""
_FOLDER = os.path.join("conf", "acl")
_BREAKS = re.compile("[\x85\u2028\u2029]")
"""What YAML reads as the end of a line, beside a newline, and folds within a text."""


class AclHome(Protocol):
    """The files with rules. Methods raise AclError for what cannot be read or written."""

    default_file: str
    """The path of the file to which new accounts go."""

    def prepare(self) -> None:
        """Make what must be there at the start."""

    def files(self) -> list[str]:
        """Return the paths of all files that exist; the default file is the last one."""

    def stamp(self, path: str) -> int:
        """Return a number that differs once the file has been changed."""

    def read(self, path: str) -> dict[str, Any] | None:
        """Return a copy of what a file says; None if it is empty or does not exist."""

    def write(self, path: str, content: Mapping[str, Any]) -> None:
        """Replace what a file says."""

    def reset(self) -> None:
        """Return to what was there at the beginning, where that is known."""

    def image(self) -> dict[str, Any] | None:
        """Return a copy of what there is; None where files of the user keep it."""

    def restore(self, image: Mapping[str, Any]) -> None:
        """Return to an image; files of the user stay."""


class MemoryHome:
    """One file that exists only here: a value that a test gave."""

    default_file = _DEFAULT_FILE

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._beginning = _plain(content)
        self._content = self._beginning
        self._stamp = 0

    def prepare(self) -> None:
        pass

    def files(self) -> list[str]:
        return [self.default_file]

    def stamp(self, path: str) -> int:
        return self._stamp

    def read(self, path: str) -> dict[str, Any] | None:
        return deepcopy(self._content)

    def write(self, path: str, content: Mapping[str, Any]) -> None:
        self._content = _plain(content)
        self._stamp += 1

    def reset(self) -> None:
        self.restore(self._beginning)

    def image(self) -> dict[str, Any] | None:
        return deepcopy(self._content)

    def restore(self, image: Mapping[str, Any]) -> None:
        self._content = deepcopy(dict(image))
        self._stamp += 1


class FileHome:
    """Files of YAML: the default file, and those in a folder and its folders, if there is one."""

    def __init__(self, default_file: str, folder: str | None = None) -> None:
        self.default_file = os.path.abspath(default_file)
        self._folder = None if folder is None else os.path.abspath(folder)

    @classmethod
    def of_rocketmq_home(cls, home: str) -> FileHome:
        """Return the files of a ``rocketmqHome``, as in Java."""
        return cls(os.path.join(home, _DEFAULT_FILE), os.path.join(home, _FOLDER))

    def prepare(self) -> None:
        """Make an empty default file if there is none, as Java does."""
        if self._folder is not None and not os.path.exists(self.default_file):
            try:
                os.close(open_regular(self.default_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            except OSError as error:
                raise AclError(f"{self.default_file}: {error.strerror}") from None

    def files(self) -> list[str]:
        found = [] if self._folder is None else _yaml_files(self._folder)
        if os.path.exists(self.default_file) and self.default_file not in found:
            found.append(self.default_file)
        return found

    def stamp(self, path: str) -> int:
        try:
            return os.stat(path).st_mtime_ns
        except OSError:
            return 0

    def read(self, path: str) -> dict[str, Any] | None:
        """Source: acl/common/AclUtils.java#getYamlDataObject (4.9.7)"""
        import yaml  # only a broker with access control by files needs it

        try:
            with open(path, "rb", opener=open_regular) as file:
                content = _loaded(file.read())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise AclError(f"{path}: {error.strerror}") from None
        except (yaml.YAMLError, ValueError, RecursionError, AclError) as error:
            raise AclError(f"{path}: {_in_one_line(error)}") from None
        if content is None:
            return None
        if not isinstance(content, dict):
            raise AclError(f"{path}: expected a mapping with accounts, not {brief(content)}")
        return content

    def write(self, path: str, content: Mapping[str, Any]) -> None:
        """Replace a file, so that a kill leaves the old accounts or the new ones.

        Source: acl/common/AclUtils.java#writeDataObject (4.9.7), which writes into the file
        """
        text = _dumped(content)
        try:
            real_path = os.path.realpath(path)  # a link stays one
            require_regular(real_path)
            mode = os.stat(real_path).st_mode if os.path.exists(real_path) else 0o644
            write_regular(f"{real_path}.tmp", text.encode(), mode & 0o777)
            os.replace(f"{real_path}.tmp", real_path)
        except (OSError, UnicodeError) as error:
            raise AclError(f"{path}: {getattr(error, 'strerror', None) or error}") from None

    def reset(self) -> None:
        """Leave the files, which belong to the user."""

    def image(self) -> dict[str, Any] | None:
        return None

    def restore(self, image: Mapping[str, Any]) -> None:
        """Leave the files, too."""


def _in_one_line(error: Exception) -> str:
    """Return the text of an error; of one of YAML's, whose text has several lines, its parts."""
    import yaml

    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return " ".join(str(error).split())
    mark, context = error.problem_mark, error.context and f", {error.context}"
    return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}{context or ''}"


def _loaded(data: bytes) -> Any:
    """Return what a document of YAML says; raise AclError, and what PyYAML raises."""
    import yaml

    # libyaml is several times as fast; not every PyYAML was built with it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    collects = gc.isenabled()
    gc.disable()  # it would look at millions of nodes again and again, and take most of the time
    try:
        depth = 0
        for event in yaml.parse(data, loader):  # libyaml's recursion would end the process
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _DEEPEST:
                raise AclError(f"more than {_DEEPEST} collections, one in the other")
        return yaml.load(data, loader)
    finally:
        if collects:
            gc.enable()


def _dumped(content: Mapping[str, Any]) -> str:
    """Return a document of YAML, with escapes for breaks of lines within a text.

    Differs: Java writes these as they are, and reads U+0085 back as another character.
    """
    import yaml

    kind: Any = type("Dumper", (yaml.SafeDumper,), {})

    def represent(dumper: Any, text: str) -> Any:
        style = '"' if _BREAKS.search(text) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)

    kind.add_representer(str, represent)
    return str(
        yaml.dump(
            *(dict(content), None, kind),
            default_flow_style=False,
            allow_unicode=True,
            sort_keys=False,
        )
    )


def _yaml_files(folder: str) -> list[str]:
    """Return the files in a folder and below, by name; none if it does not exist.

    Java takes them in the order of the file system.
    Source: acl/plain/PlainPermissionManager.java#getAllAclFiles (4.9.7)
    """
    found: list[str] = []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return found
    for name in names:
        path = os.path.join(folder, name)
        if path.endswith((".yml", ".yaml")):
            found.append(path)
        elif os.path.isdir(path) and not os.path.islink(path):
            found += _yaml_files(path)
    return found


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a value as a file would keep it: tuples become lists."""
    return {str(name): _plain_value(value) for name, value in content.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _plain(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain_value(one) for one in value]
    return value


def _require_file(path: str) -> None:
    """Raise ConfigError if ``path`` is not that of a file."""
    expected = "expected a file with accounts, such as plain_acl.yml"
    try:
        require_regular(path)
    except OSError as error:
        if error.errno == errno.EISDIR:
            expected += "; the files of a folder DIR/conf/acl are read with rocketmqHome=DIR"
        raise ConfigError(printable(f"acl={path}: {error.strerror}; {expected}")) from None
    if not os.path.isfile(path):
        raise ConfigError(printable(f"acl={path}: there is no such file; {expected}"))


def _require_yaml() -> None:
    """Raise ConfigError without PyYAML, at the start and not at the first request."""
    if find_spec("yaml") is None:
        raise ConfigError(
            "access control by files needs an extra that is not installed:"
            " pip install 'fakemq[acl]'; in Python, acl={...} needs none"
        )


def home_of(
    acl: str | Mapping[str, Any] | None, rocketmq_home: str | None, key: str = "aclEnable"
) -> AclHome:
    """Return the home of a broker's rules.

    ``acl`` is a path or a value and comes first. Raise ConfigError if neither is there, which says
    that ``key`` needs one.
    """
    if isinstance(acl, Mapping):
        return MemoryHome(acl)
    if acl is not None:
        _require_file(acl)
        _require_yaml()
        return FileHome(acl)
    if not rocketmq_home:
        raise ConfigError(
            f"{key}=true needs rocketmqHome=DIR, where DIR/conf/plain_acl.yml has the accounts;"
            " or give the file itself: --acl FILE; in Python, acl=FILE"
        )
    _require_yaml()
    return FileHome.of_rocketmq_home(rocketmq_home)
