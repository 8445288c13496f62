"""Prints the path of the library, for `.load` of the sqlite3 shell: python -m sqlite_cuckoo"""

from sqlite_cuckoo import loadable_path

print(loadable_path())
