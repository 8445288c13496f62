# run.sh's scenario by SQLite's own Tcl package: tcl_client.tcl DIRECTORY
package require sqlite3
fconfigure stdout -encoding utf-8

set path [file join [lindex $argv 0] client.db]
set extension $env(CUCKOO_EXTENSION)

proc open_database {name path} {
  sqlite3 $name $path
  $name enable_load_extension 1
  $name eval {SELECT load_extension($::extension)}
  $name enable_load_extension 0
  $name nullvalue NULL
}

proc contains {db email} {
  $db onecolumn {SELECT filter_contains('seen', $email)}
}

proc show {step args} {
  puts "$step: [join $args { }]"
}

proc refused {word text script} {
  if {![catch {uplevel 1 $script} message]} {
    return "no error"
  }
  return [expr {[string first $text $message] >= 0 ? $word : $message}]
}

proc own {what ok} {
  puts "own: [expr {$ok ? {ok} : {FAILED}}] $what"
}

# A number that was computed is bound as INTEGER; one that was only written is TEXT to SQLite.
proc integer {text} {
  expr {$text + 0}
}

set tables {users seen ids kv ring}
set largest [integer 9223372036854775807]
set large [integer 9007199254740993]
lassign {ada@example.org bob@example.org zoë@例え.jp} ada bob zoe
lassign {dora@example.org eve@example.org fred@example.org} dora eve fred
lassign {gina@example.org hana@example.org} gina hana

puts "client: Tcl [info patchlevel], SQLite [sqlite3 -version]"
open_database db $path
set file [open [file join [file dirname [info script]] schema.sql]]
db eval [read $file]
close $file
show tables {*}[db eval {
  SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1
}]

db transaction {
  foreach {id email} [list [integer 1] $ada [integer 2] $bob $large $zoe] {
    db eval {INSERT INTO users VALUES ($id, $email)}
    db eval {INSERT INTO seen VALUES ($email)}
  }
  foreach id [list [integer 1] [integer 2] $large $largest] {
    db eval {INSERT INTO ids VALUES ($id)}
  }
  foreach {name doc} {greeting hello note "Grüße 😀"} {
    db eval {INSERT INTO kv VALUES ($name, $doc)}
  }
  # A variable that does not exist is NULL; @ binds a BLOB.
  unset -nocomplain nothing
  set raw [binary format H* 00ff80]
  db eval {INSERT INTO kv VALUES ('nothing', $nothing), ('raw', @raw), ('big', $largest)}
  set chunk "to be"
  db eval {INSERT INTO kv(doc) VALUES ($chunk)}
  foreach {node weight} {cache1 1 cache2 1 größe3 2} {
    db eval {INSERT INTO ring(node, weight) VALUES ($node, $weight)}
  }
  foreach email [list $eve $bob $zoe] {
    db eval {INSERT INTO requests VALUES ($email)}
  }
}
show inserts {*}[lmap table $tables {db onecolumn "SELECT count(*) FROM $table"}]

db eval {
  SELECT u.id, u.email FROM requests JOIN seen USING (email) JOIN users u USING (email)
  ORDER BY u.id
} {
  show join $id $email
}
show in {*}[db eval {SELECT email FROM seen WHERE email IN ($zoe, $eve, $ada) ORDER BY email}]

set deleted {}
foreach _ {1 2} {
  db eval {DELETE FROM seen WHERE email = $bob}
  lappend deleted [db changes]
}
show delete {*}$deleted [contains db $bob]

db transaction {
  db eval {INSERT INTO seen VALUES ($dora)}
  # A transaction in another is a savepoint, which an error rolls back.
  catch {
    db transaction {
      db eval {INSERT INTO seen VALUES ($fred)}
      db eval {DELETE FROM seen WHERE email = $ada}
      db eval {UPDATE kv SET doc = 'bye' WHERE name = 'greeting'}
      error "back"
    }
  }
}
set greeting {SELECT doc FROM kv WHERE name = 'greeting'}
show savepoint [contains db $dora] [contains db $fred] [contains db $ada] [db onecolumn $greeting]

open_database second $path
set of_first [contains second $dora]
second eval {INSERT INTO seen VALUES ($gina)}
show "second connection" $of_first [contains db $gina]
second close
db close

open_database db $path
show reopen [db onecolumn {SELECT count(*) FROM seen}] [db onecolumn $greeting] \
  {*}[lmap table [lrange $tables 1 end] {db onecolumn {SELECT cuckoo_check($table)}}]

set image [db onecolumn {SELECT filter_export('seen')}]
db eval {INSERT INTO copy(copy, email) VALUES ('import', @image)}
set length [db onecolumn {SELECT length(filter_export('seen'))}]
show image [expr {[string length $image] == $length}] \
  [db onecolumn {SELECT filter_contains(@image, $ada)}] \
  [db onecolumn {SELECT filter_contains(@image, $bob)}] \
  [db onecolumn {SELECT count(*) FROM copy}] \
  [db onecolumn {SELECT filter_contains('copy', $zoe)}]

set answers {}
foreach id [list $large [integer 9007199254740992] $largest [integer -9223372036854775808]] {
  lappend answers [db onecolumn {SELECT filter_contains('ids', $id)}]
}
show integers {*}$answers {*}[db eval {SELECT doc, typeof(doc) FROM kv WHERE name = 'big'}]

set key "Grüße 😀"
show text [db onecolumn {SELECT doc FROM kv WHERE name = 'note'}] [contains db $zoe] \
  [db onecolumn {SELECT node FROM ring WHERE key = $key}]
set raw [db onecolumn {SELECT doc FROM kv WHERE name = 'raw'}]
show blob [binary encode hex $raw] [db onecolumn {SELECT doc FROM kv WHERE name = sha1($chunk)}]
unset -nocomplain nothing
show null [db onecolumn {SELECT filter_contains('seen', $nothing)}] \
  [db onecolumn {SELECT doc FROM kv WHERE name = 'nothing'}] \
  [llength [db eval {SELECT email FROM seen WHERE email = $nothing}]]

db transaction {
  db eval {INSERT INTO seen VALUES ($hana)}
  set words [list \
    [refused duplicate {UNIQUE constraint failed: kv.name} {
      db eval {INSERT INTO kv VALUES ('greeting', 'again')}
    }] \
    [refused NULL {a filter can't hold NULL} {db eval {INSERT INTO seen VALUES ($nothing)}}] \
    [refused list {does not know its keys} {db eval {SELECT * FROM seen}}]]
}
show refused {*}$words [contains db $hana]

# Its own.
set written 42
set computed [expr {40 + 2}]
own "a number that was only written arrives as TEXT" \
  [expr {[db onecolumn {SELECT typeof($written)}] eq "text"}]
own "a number that was computed arrives as INTEGER" \
  [expr {[db onecolumn {SELECT typeof($computed)}] eq "integer"}]
db eval {CREATE VIRTUAL TABLE untyped USING cuckoo_filter(id, seed = 1)}
db eval {INSERT INTO untyped VALUES (42); INSERT INTO ids VALUES (42)}
own "without a type the written 42 is not found" \
  [expr {![db onecolumn {SELECT filter_contains('untyped', $written)}]}]
own "a key INTEGER finds it" [db onecolumn {SELECT filter_contains('ids', $written)}]
regexp {^CKIM} $image  ;# any use as a string
own "after its use as a string an image arrives as TEXT with \$, and is an error that says so" \
  [expr {[refused yes {bind an image as a BLOB, not as TEXT} {
    db eval {INSERT INTO copy(copy, email) VALUES ('import', $image)}
  }] eq "yes"}]
own "with @ it is a BLOB still" [db onecolumn {SELECT filter_contains(@image, $ada)}]
