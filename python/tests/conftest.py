"""A private server for all tests, and a database for each."""

import os
import signal
import tempfile

import pytest

import inrush

# Whoever runs tests in the background of a shell has them ignore Ctrl-C, and with them all programs that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def state_folder():
    """Journals of the tests go into a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="inrush-state-") as folder:
        os.environ["XDG_STATE_HOME"] = folder
        yield folder


@pytest.fixture(scope="session")
def server(state_folder):
    with inrush.sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def database(server):
    """The name of an empty database."""
    server.sql("DROP DATABASE IF EXISTS py; CREATE DATABASE py")
    return "py"


@pytest.fixture(scope="session")
def account(server):
    """Host, port, user and password of a server that listens on TCP: a relay to the socket."""
    from relay import Relay

    server.sql("CREATE OR REPLACE USER loader IDENTIFIED BY 'se cret#\"'")
    server.sql("GRANT ALL ON *.* TO loader")
    with Relay(server.socket) as relay:
        yield {"host": "127.0.0.1", "port": relay.port, "user": "loader", "password": 'se cret#"'}


def rows(server, statement):
    """Lines of an answer, without the header."""
    return server.sql(statement).splitlines()[1:]
