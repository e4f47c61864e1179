"""Connections: a server as the arguments and the environment of the program."""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import re
import ssl
import stat
import tempfile
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple
from urllib.parse import parse_qsl, unquote, urlsplit

from .program import base_environment
from .sandbox import Sandbox

#: Keys of a URL's query that are options of the program.
_QUERY = re.compile(
    r"ssl(-(ca|cert|key|mode|verify-server-cert))?|skip-ssl(-verify-server-cert)?"
    r"|socket|protocol|connect-timeout|compress|get-server-public-key|server-public-key-path"
)
#: Keys of drivers that do not matter to a load.
_IGNORED = {"charset", "use-unicode", "autocommit", "local-infile", "collation", "init-command"}
#: Arguments of drivers for cursors, values and waits, which do not matter to a load.
_OF_DRIVERS = _IGNORED | {
    "auth-plugin-map", "bind-address", "binary-prefix", "client-flag", "conv", "cursorclass",
    "defer-connect", "max-allowed-packet", "named-pipe", "program-name", "read-default-group",
    "read-timeout", "server-public-key", "sql-mode", "ssl-key-password", "write-timeout",
}
#: Other names of keys, in SQLAlchemy's and PyMySQL's words.
_NAMES = {
    "unix-socket": "socket",
    "ssl-verify-identity": "ssl-verify-server-cert",
    "ssl-verify-cert": "ssl-verify-server-cert",
    "read-default-file": "defaults-file",
}


@dataclass(frozen=True)
class Connection:
    """A server and an account. No option file is read beside it.

    >>> Connection.of("mysql://loader:secret@db1:3307/shop")
    Connection(host='db1', port=3307, user='loader', socket=None, database='shop', options={})
    """

    host: Optional[str] = None
    port: Optional[int] = None
    user: Optional[str] = None
    password: Optional[str] = field(default=None, repr=False)
    socket: Optional[str] = None
    database: Optional[str] = None
    #: Further options of the program, such as ``{"ssl-ca": "ca.pem"}``.
    options: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(connection: Any) -> Optional["Connection"]:
        """The connection that a URL, a path, arguments, an engine or a driver's connection means.

        >>> Connection.of({"unix_socket": "/run/mysqld/mysqld.sock", "user": "root"}).socket
        '/run/mysqld/mysqld.sock'
        >>> Connection.of("mysql://db1/shop?ssl_ca=ca.pem").options
        {'ssl-ca': 'ca.pem'}
        """
        if connection is None or isinstance(connection, Connection):
            return connection
        if isinstance(connection, Sandbox):
            return Connection(options={"sandbox": connection.dir})
        if isinstance(connection, (str, os.PathLike)):
            text = os.fspath(connection)
            return _of_url(text) if "://" in text else _of_path(text)
        if isinstance(connection, Mapping):
            return _of_mapping(connection)
        if hasattr(connection, "render_as_string"):
            return _of_sqlalchemy(connection)
        # A connection of SQLAlchemy has an engine, which has the URL.
        engine = getattr(connection, "engine", connection)
        if hasattr(getattr(engine, "url", None), "render_as_string"):
            return _of_engine(engine, connection)
        if hasattr(connection, "unix_socket") and hasattr(connection, "user"):
            return _of_pymysql(connection)
        raise TypeError(
            f"connection is a {type(connection).__name__}; expected a URL, the path of an option "
            "file or socket, a dictionary, an engine of SQLAlchemy or a connection of PyMySQL"
        )

    def arguments(self) -> List[str]:
        """The program's arguments. The password is not among them."""
        out = []
        if not {"defaults-file", "sandbox"} & set(self.options):
            # Passwords of option files would take the place of this one.
            out.append("--defaults-file=/dev/null")
        for name in ("host", "port", "user", "socket"):
            value = getattr(self, name)
            if value is not None:
                out.append(f"--{name}={value}")
        for name, value in self.options.items():
            if value is True:
                out.append(f"--{name}")
            elif value is not None and value is not False:
                out.append(f"--{name}={value}")
        return out

    def environment(self) -> Dict[str, str]:
        """The variable of the password, which other users cannot read."""
        return {} if self.password is None else {"MYSQL_PWD": self.password}


def environment(connection: Optional[Connection]) -> Dict[str, str]:
    """The environment of the program: that of Python, with the connection's password."""
    out = base_environment()
    if connection is not None:
        for name in ("MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_PWD"):
            out.pop(name, None)
        out.update(connection.environment())
    return out


def _of_path(path: str) -> Connection:
    if "@" in path and not os.path.exists(os.path.expanduser(path)):
        # It may have a password.
        raise ValueError(
            "the connection is no path of a file; a URL begins with mysql:// or mariadb://"
        )
    path = os.path.abspath(os.path.expanduser(path))
    mode = os.stat(path).st_mode
    if stat.S_ISSOCK(mode):
        return Connection(socket=path)
    if stat.S_ISDIR(mode):
        return Connection(options={"sandbox": path})
    return Connection(options={"defaults-file": path})


def _of_url(url: str) -> Connection:
    # Parts of a password may be anywhere in a URL that is malformed, so that no message has them.
    malformed = ValueError(
        "the URL of the connection is malformed: characters of the user and the password are "
        "escaped, / as %2F, ? as %3F, # as %23, @ as %40, and the port is a number"
    )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise malformed from None
    if parts.scheme.split("+")[0] not in ("mysql", "mariadb"):
        raise ValueError(f"the URL begins with {parts.scheme}://; expected mysql:// or mariadb://")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    is_known = all(_is_known(name.replace("_", "-")) for name in options)
    if parts.fragment or "@" in parts.path or ("@" in parts.query and not is_known):
        raise malformed
    query, socket = _query(options)
    return Connection(
        host=parts.hostname,
        port=port,
        user=_unquoted(parts.username),
        password=_unquoted(parts.password),
        socket=socket,
        database=unquote(parts.path.strip("/")) or None,
        options=query,
    )


def _of_sqlalchemy(url: Any) -> Connection:
    backend = url.get_backend_name()
    if backend not in ("mysql", "mariadb"):
        raise ValueError(f"the engine is of {backend}; expected mysql or mariadb")
    query, socket = _query({name: value for name, value in url.query.items()})
    return Connection(
        host=url.host or None,
        port=url.port,
        user=url.username,
        password=None if url.password is None else str(url.password),
        socket=socket,
        database=url.database or None,
        options=_as_drivers_do(query, url.host, socket),
    )


def _of_engine(engine: Any, connection: Any) -> Connection:
    """The server that an engine reaches. Its own arguments count for more than its URL."""
    of_url = _of_sqlalchemy(engine.url)
    creator = getattr(engine.pool, "_creator", None)
    known = inspect.getclosurevars(creator).nonlocals if inspect.isfunction(creator) else {}
    has_event = bool(engine.dialect.dispatch.do_connect)
    if getattr(creator, "__module__", "") == "sqlalchemy.engine.create" and not has_event:
        arguments = known.get("cparams")
        if arguments == engine.dialect.create_connect_args(engine.url)[1]:
            return of_url
        if isinstance(arguments, Mapping):
            return _of_arguments(dict(arguments))
    # A function of the user's makes the connections, or changes their arguments.
    if engine.driver == "pymysql":
        raw = connection.connection if connection is not engine else engine.raw_connection()
        try:
            return _of_pymysql(raw.driver_connection)
        finally:
            if connection is engine:
                raw.close()
    raise ValueError(
        "the engine connects by a creator or an event, so its server is not known: give "
        'connection= the arguments, {"host": .., "user": .., "password": ..}'
    )


def _of_mapping(arguments: Mapping[str, Any]) -> Connection:
    """Arguments of the user's: a wrong name would otherwise lead to another server."""
    known = {"host", "port", "user", "password", "passwd", "database", "db", "ssl", "ssl-disabled"}
    for name in arguments:
        plain = name.replace("_", "-")
        if plain not in known | _OF_DRIVERS and not _is_option(plain):
            raise ValueError(f"the connection has the unknown argument {name}")
    return _of_arguments(dict(arguments))


def _of_arguments(arguments: Dict[str, Any]) -> Connection:
    """Arguments of ``pymysql.connect``."""
    arguments = {name: value for name, value in arguments.items() if value is not None}
    host, port = arguments.pop("host", None), arguments.pop("port", None)
    user = arguments.pop("user", None)
    passwords = [arguments.pop(name, None) for name in ("password", "passwd")]
    databases = [arguments.pop(name, None) for name in ("database", "db")]
    ssl = arguments.pop("ssl", None) or {}
    if not isinstance(ssl, (Mapping, bool)):
        raise ValueError(
            f"ssl of the connection is a {type(ssl).__name__}, whose files are not known: name "
            'them, as in ssl={"ca": "ca.pem"}'
        )
    for name, value in (ssl.items() if isinstance(ssl, Mapping) else ()):
        arguments.setdefault(f"ssl_{name}", value)
    if ssl is True:
        arguments["ssl"] = True
    if arguments.pop("ssl_disabled", False):
        arguments["skip_ssl"] = True
    # Those of cursors, times and character sets have no meaning for a load.
    kept = {name: value for name, value in arguments.items() if _is_option(name)}
    query, socket = _query(kept)
    return Connection(
        host=host,
        port=None if port is None else int(port),
        user=user,
        password=_decoded(next((one for one in passwords if one is not None), None)),
        socket=socket,
        database=next((one for one in databases if one is not None), None),
        options=_as_drivers_do(query, host, socket),
    )


def _of_pymysql(connection: Any) -> Connection:
    socket = connection.unix_socket or None
    host = None if socket else connection.host
    options = _of_tls(getattr(connection, "ctx", None))
    return Connection(
        host=host,
        port=None if socket else connection.port,
        user=_decoded(connection.user),
        password=_decoded(connection.password),
        socket=socket,
        database=_decoded(connection.db),
        options=_as_drivers_do(options, host, socket),
    )


def _of_tls(context: Optional[ssl.SSLContext]) -> Dict[str, Any]:
    """The options that verify a server as the TLS context of a driver does."""
    if context is None:
        return {}
    authorities = context.get_ca_certs(binary_form=True)
    verifies = context.verify_mode != ssl.CERT_NONE
    # A context that does not verify has the system's authorities all the same.
    if not verifies and authorities == ssl.create_default_context().get_ca_certs(binary_form=True):
        return {}
    if not authorities:
        return {"ssl": True}
    options = {"ssl-ca": _file_of("".join(map(ssl.DER_cert_to_PEM_cert, authorities))).name}
    if not context.check_hostname:
        options["ssl-mode"] = "VERIFY_CA"
    return options


@functools.lru_cache(maxsize=None)
def _file_of(authorities: str) -> Any:
    """A file of certificates, until Python ends."""
    file = tempfile.NamedTemporaryFile("w", prefix="inrush-", suffix=".pem", encoding="ascii")
    file.write(authorities)
    file.flush()
    atexit.register(file.close)
    return file


def _as_drivers_do(
    options: Dict[str, Any], host: Optional[str], socket: Optional[str]
) -> Dict[str, Any]:
    """Drivers reach localhost by TCP, where the program would take the socket."""
    if host in (None, "", "localhost") and socket is None and "defaults-file" not in options:
        options.setdefault("protocol", "tcp")
    return options


def _is_option(name: str) -> bool:
    name = name.replace("_", "-")
    return bool(_QUERY.fullmatch(_NAMES.get(name, name))) or name in _NAMES


def _is_known(name: str) -> bool:
    return name in _IGNORED or _is_option(name)


def _query(query: Mapping[str, Any]) -> Tuple[Dict[str, Any], Optional[str]]:
    """Options of the program, and the socket."""
    out: Dict[str, Any] = {}
    for key, value in query.items():
        name = key.replace("_", "-")
        if name in _IGNORED:
            continue
        if not _is_option(name):
            raise ValueError(f"the connection has the unknown option {key}")
        name = _NAMES.get(name, name)
        switch = str(value).lower()
        if name.startswith(("skip-", "get-")) or name == "compress":
            out[name] = switch not in ("0", "false", "off", "no")
        elif name in ("ssl", "ssl-verify-server-cert"):
            out[name] = "0" if switch in ("0", "false", "off", "no") else True
        else:
            out[name] = value
    socket = out.pop("socket", None)
    return out, socket


def _unquoted(text: Optional[str]) -> Optional[str]:
    return None if text is None else unquote(text)


def _decoded(text: Any) -> Optional[str]:
    if isinstance(text, (bytes, bytearray)):
        return text.decode("latin-1" if _is_latin(bytes(text)) else "utf-8")
    return None if text is None else str(text)


def _is_latin(text: bytes) -> bool:
    """PyMySQL keeps passwords in latin-1 that are no UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False
