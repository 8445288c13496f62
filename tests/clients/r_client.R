# run.sh's scenario by R's DBI and RSQLite: Rscript r_client.R DIRECTORY
suppressPackageStartupMessages({
  library(DBI)
  library(RSQLite)
  library(bit64)
})

path <- file.path(commandArgs(TRUE)[1], "client.db")
extension <- Sys.getenv("CUCKOO_EXTENSION")
tables <- c("users", "seen", "ids", "kv", "ring")
ada <- "ada@example.org"
bob <- "bob@example.org"
zoe <- "zoë@例え.jp"
dora <- "dora@example.org"
eve <- "eve@example.org"
fred <- "fred@example.org"
gina <- "gina@example.org"
hana <- "hana@example.org"
# A number of R is a double, exact up to 2^53. integer64 of the package bit64 is beyond that.
large <- as.integer64("9007199254740993")
largest <- as.integer64("9223372036854775807")
doc <- "SELECT doc FROM kv WHERE name = ?"

open_database <- function(file = path) {
  db <- dbConnect(SQLite(), file, synchronous = NULL)
  dbGetQuery(db, "SELECT load_extension('cuckoo')")
  db
}

run <- function(db, sql, ...) {
  invisible(dbExecute(db, sql, params = if (...length() > 0) list(...)))
}

# The rows that a statement changed. dbExecute() gives the change of total_changes(), which counts
# the rows that a filter writes to its own tables, too.
changed_rows <- function(db, sql, ...) {
  run(db, sql, ...)
  scalar(db, "SELECT changes()")
}

in_transaction <- function(db, code) {
  invisible(dbWithTransaction(db, code))
}

column <- function(db, sql, ...) {
  dbGetQuery(db, sql, params = if (...length() > 0) list(...))[[1]]
}

# The value of the only row. A BLOB is a list with a raw vector.
scalar <- function(db, sql, ...) {
  value <- column(db, sql, ...)
  if (is.list(value)) value[[1]] else value
}

contains <- function(db, email) {
  scalar(db, "SELECT filter_contains('seen', ?)", email)
}

word <- function(value) {
  if (is.null(value) || is.na(value)) "NULL" else as.character(value)
}

show_step <- function(step, ...) {
  words <- unlist(lapply(list(...), function(values) {
    vapply(seq_along(values), function(i) word(values[i]), "")
  }))
  cat(paste0(step, ":", paste0(" ", words, collapse = "")), sep = "\n")
}

own <- function(what, ok) {
  cat(paste("own:", if (isTRUE(ok)) "ok" else "FAILED", what), sep = "\n")
}

refused <- function(word, text, action) {
  tryCatch({
    action
    "no error"
  }, error = function(e) {
    if (grepl(text, conditionMessage(e), fixed = TRUE)) word else conditionMessage(e)
  })
}

db <- open_database()
cat(sprintf("client: R %s, RSQLite %s, SQLite %s", getRversion(), packageVersion("RSQLite"),
  scalar(db, "SELECT sqlite_version()")), sep = "\n")
for (statement in readLines("tests/clients/schema.sql")) run(db, statement)
show_step("tables", column(db,
  "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1"))

# One statement takes columns of values, and runs once for each row.
in_transaction(db, {
  emails <- c(ada, bob, zoe)
  run(db, "INSERT INTO users VALUES (?, ?)", c(as.integer64(1:2), large), emails)
  run(db, "INSERT INTO seen VALUES (?)", emails)
  run(db, "INSERT INTO ids VALUES (?)", c(as.integer64(1:2), large, largest))
  run(db, "INSERT INTO kv VALUES (?, ?)", c("greeting", "note"), c("hello", "Grüße 😀"))
  run(db, "INSERT INTO kv VALUES (?, ?)", "nothing", NA)
  run(db, "INSERT INTO kv VALUES (?, ?)", "raw", list(as.raw(c(0x00, 0xff, 0x80))))
  run(db, "INSERT INTO kv VALUES (?, ?)", "big", largest)
  run(db, "INSERT INTO kv(doc) VALUES (?)", "to be")
  run(db, "INSERT INTO ring(node, weight) VALUES (?, ?)", c("cache1", "cache2", "größe3"),
    c(1L, 1L, 2L))
  run(db, "INSERT INTO requests VALUES (?)", c(eve, bob, zoe))
})
show_step("inserts", vapply(tables, function(table) {
  as.integer(scalar(db, paste("SELECT count(*) FROM", table)))
}, 1L))

joined <- dbGetQuery(db, "SELECT u.id, u.email FROM requests JOIN seen USING (email)
  JOIN users u USING (email) ORDER BY u.id")
for (i in seq_len(nrow(joined))) show_step("join", joined$id[i], joined$email[i])
show_step("in", column(db, "SELECT email FROM seen WHERE email IN (?, ?, ?) ORDER BY email",
  zoe, eve, ada))

delete <- "DELETE FROM seen WHERE email = ?"
show_step("delete", changed_rows(db, delete, bob), changed_rows(db, delete, bob),
  contains(db, bob))

in_transaction(db, {
  run(db, "INSERT INTO seen VALUES (?)", dora)
  run(db, "SAVEPOINT inside")
  run(db, "INSERT INTO seen VALUES (?)", fred)
  run(db, delete, ada)
  run(db, "UPDATE kv SET doc = ? WHERE name = ?", "bye", "greeting")
  run(db, "ROLLBACK TO inside")
  run(db, "RELEASE inside")
})
show_step("savepoint", contains(db, dora), contains(db, fred), contains(db, ada),
  scalar(db, doc, "greeting"))

second <- open_database()
of_first <- contains(second, dora)
run(second, "INSERT INTO seen VALUES (?)", gina)
show_step("second connection", of_first, contains(db, gina))
dbDisconnect(second)
dbDisconnect(db)

db <- open_database()
show_step("reopen", scalar(db, "SELECT count(*) FROM seen"), scalar(db, doc, "greeting"),
  vapply(tables[-1], function(table) scalar(db, "SELECT cuckoo_check(?)", table), ""))

image <- scalar(db, "SELECT filter_export('seen')")
run(db, "INSERT INTO copy(copy, email) VALUES ('import', ?)", list(image))
asked <- "SELECT filter_contains(?, ?)"
show_step("image",
  as.integer(length(image) == scalar(db, "SELECT length(filter_export('seen'))")),
  scalar(db, asked, list(image), ada), scalar(db, asked, list(image), bob),
  scalar(db, "SELECT count(*) FROM copy"), scalar(db, "SELECT filter_contains('copy', ?)", zoe))

# The smallest integer is NA to bit64, so it is written in the statement.
ids <- c(large, as.integer64("9007199254740992"), largest)
show_step("integers",
  vapply(seq_along(ids), function(i) scalar(db, "SELECT filter_contains('ids', ?)", ids[i]), 1L),
  scalar(db, "SELECT filter_contains('ids', -9223372036854775807 - 1)"),
  scalar(db, doc, "big"), scalar(db, "SELECT typeof(doc) FROM kv WHERE name = ?", "big"))
show_step("text", scalar(db, doc, "note"), contains(db, zoe),
  scalar(db, "SELECT node FROM ring WHERE key = ?", "Grüße 😀"))
show_step("blob", paste(scalar(db, doc, "raw"), collapse = ""),
  scalar(db, "SELECT doc FROM kv WHERE name = sha1(?)", "to be"))
show_step("null", contains(db, NA), scalar(db, doc, "nothing"),
  length(column(db, "SELECT email FROM seen WHERE email = ?", NA)))

in_transaction(db, {
  run(db, "INSERT INTO seen VALUES (?)", hana)
  words <- c(
    refused("duplicate", "UNIQUE constraint failed: kv.name",
      run(db, "INSERT INTO kv VALUES (?, ?)", "greeting", "again")),
    refused("NULL", "a filter can't hold NULL", run(db, "INSERT INTO seen VALUES (?)", NA)),
    refused("list", "does not know its keys", column(db, "SELECT * FROM seen")))
})
show_step("refused", words, contains(db, hana))

# Its own.
own("a number arrives as REAL, 2L and integer64 as INTEGER",
  scalar(db, "SELECT typeof(?)", 2) == "real" && scalar(db, "SELECT typeof(?)", 2L) == "integer" &&
    scalar(db, "SELECT typeof(?)", large) == "integer")
own("a key INTEGER finds the number", scalar(db, "SELECT filter_contains('ids', ?)", 2) == 1)
own("one statement asks a filter for a whole column",
  identical(column(db, "SELECT filter_contains('seen', ?)", c(ada, eve, zoe)), c(1L, 0L, 1L)))
run(db, "INSERT INTO seen VALUES (?)", "three")
own("dbExecute() counts more rows than changes(), because the filter writes rows of its own",
  run(db, delete, "three") > 1 && scalar(db, "SELECT changes()") == 1)
own("dbReadTable() of a filter: an error",
  refused("yes", "does not know its keys", dbReadTable(db, "seen")) == "yes")
own("dbAppendTable() adds to a filter",
  {
    dbAppendTable(db, "seen", data.frame(email = c("one", "two")))
    contains(db, "one") == 1 && contains(db, "two") == 1
  })
small <- dbConnect(SQLite(), ":memory:", loadable.extensions = FALSE)
own("loadable.extensions = FALSE: an error",
  refused("yes", "not authorized",
    dbGetQuery(small, "SELECT load_extension(?)", params = list(extension))) == "yes")
dbDisconnect(small)
fast <- dbConnect(SQLite(), ":memory:")
own("RSQLite sets synchronous = off unless told otherwise",
  scalar(fast, "PRAGMA synchronous") == 0 && scalar(db, "PRAGMA synchronous") == 2)
dbDisconnect(fast)
dbDisconnect(db)
