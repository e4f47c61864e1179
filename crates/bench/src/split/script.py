"""The script that such files are usually loaded by: csv, dictionaries of what there is, executemany, one commit.

python3 script.py SOCKET USER DATABASE FILE REJECTS_MAX

Without a client module (pymysql, MySQLdb) the statements that pymysql would send go to the mariadb client.
"""
import csv
import datetime
import decimal
import subprocess
import sys

BATCH = 10_000


class Client:
    """What is needed of a connection, by the mariadb client: executemany as pymysql words it."""

    def __init__(self, socket, user, database):
        command = ["mariadb", "--socket", socket, "--user", user, "--max-allowed-packet=64M", database]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE)
        self.write = self.process.stdin.write
        self.write(b"START TRANSACTION;\n")

    def executemany(self, sql, rows):
        head = sql[: sql.index("(%s")]
        for start in range(0, len(rows), 1000):
            values = ",".join("(" + ",".join(map(literal, row)) + ")" for row in rows[start : start + 1000])
            self.write((head + values + ";\n").encode())

    def commit(self):
        self.write(b"COMMIT;\n")
        self.process.stdin.close()
        if self.process.wait():
            sys.exit("the mariadb client failed")


def literal(value):
    if isinstance(value, (int, decimal.Decimal)):
        return str(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def connect(socket, user, database):
    try:
        import pymysql as module
    except ImportError:
        try:
            import MySQLdb as module
        except ImportError:
            client = Client(socket, user, database)
            return client, client, "the mariadb client"
    connection = module.connect(unix_socket=socket, user=user, database=database, charset="utf8mb4")
    return connection, connection.cursor(), module.__name__


def checked(row):
    """The values of a line, or an exception."""
    no, ordered, email, customer, city, sku, product, price, line, quantity = row
    if not email:
        raise ValueError("no email")
    ordered = datetime.datetime.strptime(ordered, "%Y-%m-%d %H:%M:%S")
    return no, ordered, email, customer, city, sku, product, decimal.Decimal(price), int(line), int(quantity)


def main(socket, user, database, path, rejects_max):
    connection, cursor, name = connect(socket, user, database)
    customers, products, orders = {}, {}, {}
    new_customers, new_products, new_orders, lines = [], [], [], []
    rejects = 0

    def flush():
        for sql, rows in (
            ("INSERT INTO customers (id, email, name, city) VALUES (%s, %s, %s, %s)", new_customers),
            ("INSERT INTO products (id, sku, name, price) VALUES (%s, %s, %s, %s)", new_products),
            ("INSERT INTO orders (id, no, ordered, customer_id) VALUES (%s, %s, %s, %s)", new_orders),
            ("INSERT INTO order_lines (order_id, line, product_id, quantity) VALUES (%s, %s, %s, %s)", lines),
        ):
            if rows:
                cursor.executemany(sql, rows)
                rows.clear()

    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        next(reader)
        for row in reader:
            try:
                no, ordered, email, customer, city, sku, product, price, line, quantity = checked(row)
            except (ValueError, decimal.InvalidOperation) as error:
                rejects += 1
                if rejects > rejects_max:
                    sys.exit(f"line {reader.line_num}: {error}")
                continue
            if email not in customers:
                customers[email] = len(customers) + 1
                new_customers.append((customers[email], email, customer, city))
            if sku not in products:
                products[sku] = len(products) + 1
                new_products.append((products[sku], sku, product, price))
            if no not in orders:
                orders[no] = len(orders) + 1
                new_orders.append((orders[no], no, ordered, customers[email]))
            lines.append((orders[no], line, products[sku], quantity))
            if len(lines) >= BATCH:
                flush()
    flush()
    connection.commit()
    print(name)


if __name__ == "__main__":
    main(*sys.argv[1:5], int(sys.argv[5]))
