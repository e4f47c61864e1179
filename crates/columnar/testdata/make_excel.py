"""Workbooks of the tests: pip install xlsxwriter openpyxl odfpy.

Each has the same rows on the sheet `Orders`, below a title and a blank row in the sheets named `Titled`.
"""

import datetime as dt

import openpyxl
import xlsxwriter
from odf import opendocument, table, text

NAMES = ["id", "name", "price", "day", "at", "clock", "spent", "ok", "big", "twice"]
ROWS = [
    [1, "one", 0.1, dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 34, 56), dt.time(12, 34, 56),
     dt.timedelta(hours=36), True, 1e15, 0.2],
    [2, "two & <three>", 0.1 + 0.2, dt.date(1970, 1, 1), dt.datetime(1970, 1, 1), dt.time(0, 0, 0),
     dt.timedelta(minutes=1), False, 9007199254740991, 0.6],
    [3, None, None, None, None, None, None, None, None, None],
    [4, "Ünïcode", -12.5, dt.date(9999, 12, 31), dt.datetime(2024, 1, 1, 0, 0, 0, 250000), dt.time(23, 59, 59),
     dt.timedelta(0), True, -1, -25],
]


def xlsx(path, epoch_1904=False):
    book = xlsxwriter.Workbook(path, {"date_1904": epoch_1904})
    formats = [book.add_format({"num_format": it}) for it in ["yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss", "hh:mm:ss", "[h]:mm:ss"]]
    day, at, clock, spent = formats
    hidden = book.add_worksheet("Hidden")
    hidden.write(0, 0, "secret")
    for name, first in [("Orders", 0), ("Titled", 2)]:
        sheet = book.add_worksheet(name)
        if first:
            sheet.merge_range(0, 0, 0, 3, "All orders")
        sheet.write_row(first, 0, NAMES)
        for at_row, row in enumerate(ROWS):
            # A blank row is no row.
            number = first + 1 + at_row + (at_row > 1)
            for column, value in enumerate(row):
                if value is None:
                    if column == 1:
                        sheet.write_blank(number, column, None, day)
                elif column == 9:
                    sheet.write_formula(number, column, f"=C{number + 1}*2", None, value)
                elif column == 6:
                    sheet.write_datetime(number, column, value, spent)
                elif column in (3, 4, 5):
                    sheet.write_datetime(number, column, value, formats[column - 3])
                else:
                    sheet.write(number, column, value)
    errors = book.add_worksheet("Errors")
    errors.write_row(1, 1, ["id", "value"])
    errors.write_row(2, 1, [1, 5])
    errors.write(3, 1, 2)
    errors.write_formula(3, 2, "=1/0", None, "#DIV/0!")
    errors.write_row(4, 1, [3, "five"])
    errors.write(5, 1, 4)
    errors.write(5, 2, dt.date(2024, 1, 1), day)
    errors.write_row(6, 1, [5, 2**53])
    book.worksheets_objs[1].activate()
    hidden.hide()
    book.close()


def ods(path):
    book = opendocument.OpenDocumentSpreadsheet()
    sheet = table.Table(name="Orders")

    def cell(value):
        if value is None:
            return table.TableCell(numbercolumnsrepeated=1)
        if isinstance(value, bool):
            it = table.TableCell(valuetype="boolean", booleanvalue=str(value).lower())
        elif isinstance(value, (int, float)):
            it = table.TableCell(valuetype="float", value=repr(value))
        elif isinstance(value, dt.timedelta):
            seconds = int(value.total_seconds())
            it = table.TableCell(valuetype="time", timevalue=f"PT{seconds // 3600:02}H{seconds // 60 % 60:02}M{seconds % 60:02}S")
        elif isinstance(value, dt.time):
            it = table.TableCell(valuetype="time", timevalue=f"PT{value.hour:02}H{value.minute:02}M{value.second:02}S")
        elif isinstance(value, (dt.date, dt.datetime)):
            it = table.TableCell(valuetype="date", datevalue=value.isoformat())
        else:
            it = table.TableCell(valuetype="string")
        it.addElement(text.P(text=str(value)))
        return it

    for row in [NAMES] + ROWS:
        line = table.TableRow()
        for value in row:
            line.addElement(cell(value))
        line.addElement(table.TableCell(numbercolumnsrepeated=16374))
        sheet.addElement(line)
    blank = table.TableRow(numberrowsrepeated=1048000)
    blank.addElement(table.TableCell(numbercolumnsrepeated=16384))
    sheet.addElement(blank)
    book.spreadsheet.addElement(sheet)
    book.save(path)


def unstored(path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["id", "twice"])
    sheet.append([1, "=A2*2"])
    book.save(path)


xlsx("other/book.xlsx")
xlsx("other/book-1904.xlsx", True)
ods("other/book.ods")
unstored("other/unstored.xlsx")
