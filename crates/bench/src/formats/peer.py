# Loads a Parquet file into a table by another library: peer.py NAME SOCKET USER DATABASE TABLE FILE
# Without a file it only looks whether the library is there. Prints its version.
import glob
import importlib
import os
import shutil
import sys
import tempfile
from urllib.parse import quote


def main(name, socket, user, database, table, file=None):
    library = importlib.import_module(name)
    if name == "duckdb":
        by_duckdb(library, f"socket={socket} user={user} database={database}", table, file)
    else:
        by_sqlalchemy(library, f"mysql+pymysql://{quote(user)}@/{database}?unix_socket={quote(socket)}", table, file)
    print(library.__version__)


def by_duckdb(duckdb, server, table, file):
    package = importlib.import_module("duckdb_extension_mysql")
    found = glob.glob(os.path.join(os.path.dirname(package.__file__), "extensions", "*", "*.duckdb_extension"))
    connection = duckdb.connect()
    with tempfile.TemporaryDirectory() as folder:
        # The name of the file is that of the function by which it begins.
        extension = os.path.join(folder, "mysql_scanner.duckdb_extension")
        shutil.copy(found[0], extension)
        connection.execute(f"LOAD '{extension}'")
    if file:
        connection.execute(f"ATTACH '{server}' AS d (TYPE mysql)")
        connection.execute(f"INSERT INTO d.{table} SELECT * FROM '{file}'")


def by_sqlalchemy(library, url, table, file):
    importlib.import_module("pymysql")
    engine = importlib.import_module("sqlalchemy").create_engine(url)
    if not file:
        return
    rows = library.read_parquet(file)
    if library.__name__ == "polars":
        rows.write_database(table, engine, if_table_exists="append", engine="sqlalchemy")
    else:
        rows.to_sql(table, engine, if_exists="append", index=False, chunksize=10_000, method="multi")


main(*sys.argv[1:])
