# The fault harness: what the scenarios (*.test) are written in. Runs in SQLite's own testfixture.
#
# A scenario has a base file, made once, and steps: SQL statements, each with its mirror, which does
# the same to an ordinary table beside. One run without faults counts the points at which a fault
# can be injected; then each point is a trial of its own: the base file anew, the steps with that
# one fault, and afterwards
#   F1  every statement succeeded with the result it has without faults, and in the transaction it
#       began in, or failed with the code and text of the fault;
#   F2  contents equal the mirror's: a statement that failed is mirrored by nothing, a transaction
#       that SQLite undid is undone for both;
#   F3  if a flush failed half-way the table may refuse all use until a roll-back (counted as
#       refusals);
#   F4  'check' and integrity_check pass, further writes work, and so does all of it in a new
#       connection;
#   F5  no memory is lost;
#   F6  SQLite may forget that memory ran out while it read the schema for a CREATE, ALTER or DROP:
#       it undoes the transaction, which disconnects tables, whose statements are finalized, which
#       clears its flag. Then the statement goes on, by itself (counted as lost errors).
# Mirrors, and everything that compares, run without faults, where the injector can be paused;
# where it can't (faults of the VFS), a mirror that fails rolls the transaction back.
#
# Environment, set by run.sh: CUCKOO_EXTENSION, CUCKOO_POINTS (trials of one scenario and kind at
# most, 0: all), CUCKOO_ONLY ("scenario [kind [point]]").

sqlite3_shutdown
sqlite3_config_lookaside 0 0
install_malloc_faultsim 1
sqlite3_initialize

set extension $env(CUCKOO_EXTENSION)
set points_at_most [expr {[info exists env(CUCKOO_POINTS)] ? $env(CUCKOO_POINTS) : 0}]
set all [expr {$points_at_most == 0 || $points_at_most >= 1000}]  ;# of what has few: each of them
set only [expr {[info exists env(CUCKOO_ONLY)] ? $env(CUCKOO_ONLY) : {}}]

array set injected {}     ;# kind -> faults injected
array set trials {}       ;# kind -> trials
set refusals 0            ;# F3
set lost_errors 0         ;# F6
set differences 0

# --- the injectors -------------------------------------------------------------------------------
# arm kind n: the n-th opportunity fails, and with "persistent" all after it. pause and resume stop
# the count. disarm says how many faults there were.

set vfs_faults {full cantopen-transient cantopen-persistent shm-transient shm-persistent}
set all_faults [concat {oom-transient oom-persistent ioerr-transient ioerr-persistent interrupt} \
  $vfs_faults]
set never 1000000000

proc arm {kind n} {
  set ::armed $kind
  set ::faults 0
  switch -glob $kind {
    oom-* {
      set ::oom_repeat [expr {$kind eq "oom-persistent" ? 1000000 : 1}]
      set ::oom_pending [expr {$n - 1}]
    }
    ioerr-* {
      set ::io_pending $n
      set ::io_persist [expr {$kind eq "ioerr-persistent"}]
      set ::sqlite_io_error_hit 0
    }
    interrupt { set ::interrupt_pending $n }
    full { faultvfs full $n 1 }
    cantopen-* { faultvfs cantopen $n [expr {$kind eq "cantopen-persistent"}] }
    shm-* { faultvfs ioerr $n [expr {$kind eq "shm-persistent"}] }
  }
}

proc resume {} {
  switch -glob $::armed {
    oom-* {
      if {$::oom_pending >= 0} {
        sqlite3_memdebug_fail $::oom_pending -repeat $::oom_repeat
      }
    }
    ioerr-* {
      set ::sqlite_io_error_persist $::io_persist
      set ::sqlite_io_error_pending $::io_pending
    }
    interrupt { set ::sqlite_interrupt_count $::interrupt_pending }
  }
}

proc pause {} {
  switch -glob $::armed {
    oom-* {
      set ::oom_pending [sqlite3_memdebug_pending]
      incr ::faults [sqlite3_memdebug_fail -1]
    }
    ioerr-* {
      set ::io_pending $::sqlite_io_error_pending
      set ::sqlite_io_error_pending 0
      set ::sqlite_io_error_persist 0
    }
    interrupt {
      set ::interrupt_pending $::sqlite_interrupt_count
      set ::sqlite_interrupt_count 0
    }
  }
}

proc disarm {} {
  switch -glob $::armed {
    ioerr-* {
      set ::faults [expr {$::sqlite_io_error_hit > 0}]
      set ::sqlite_io_error_hit 0
      set ::sqlite_io_error_hardhit 0
    }
    interrupt { set ::faults [expr {$::interrupt_pending <= 0}] }
    full { set ::faults [faultvfs full] }
    cantopen-* { set ::faults [faultvfs cantopen] }
    shm-* { set ::faults [faultvfs ioerr] }
  }
  return $::faults
}

# What was counted of `never`, after a run in which nothing failed.
proc opportunities {kind} {
  switch -glob $kind {
    oom-* { return [expr {$::never - 1 - $::oom_pending}] }
    ioerr-* { return [expr {$::never - $::io_pending}] }
    interrupt { return [expr {$::never - $::interrupt_pending}] }
  }
  return unknown
}

# The codes and the text of each kind of fault.
set excuses {
  oom {{7} {*out of memory*}}
  ioerr {{10 14} {*disk I/O error*}}
  shm {{10 14} {*disk I/O error*}}
  full {{13 10} {*database or disk is full*}}
  cantopen {{14 10} {*unable to open*}}
  interrupt {{9 10} {*interrupted*}}
}

# F1: may a statement fail so? A flush of ours before a savepoint makes IOERR of every failure, so that all is undone.
proc excusable {kind sql code message failed_before} {
  set primary [expr {$code & 255}]
  if {$failed_before && (
        [string match "cannot *- no transaction is active" $message] ||
        [string match "cannot start a transaction within *" $message] ||
        [string match "no such savepoint: *" $message] ||
        [string match "no such table: *" $message] ||
        [string match "*table * already exists" $message] ||
        [string match "there is already *" $message] || $primary == 10 || $primary == 7)} {
    return 1  ;# what follows from the first failure
  }
  # Of a failure in planning, and in ALTER TABLE, SQLite shows the text with its own code, or none.
  if {[string match "ALTER *" $sql] && $message eq "SQL logic error"} {
    return 1
  }
  # Only before a savepoint: a COMMIT keeps its code.
  if {$sql eq "COMMIT" && $kind in {interrupt full} && $primary == 10} {
    return 0
  }
  lassign [dict get $::excuses [lindex [split $kind -] 0]] codes text
  return [expr {$primary in $codes || $code == 3082 || [string match $text $message]}]
}

# --- connections and files -----------------------------------------------------------------------

set vfs ""  ;# the one of the kind of fault that runs

proc open_database {name {file test.db}} {
  if {$::vfs eq ""} {
    sqlite3 $name $file
  } else {
    sqlite3 $name $file -vfs $::vfs
  }
  sqlite3_extended_result_codes $name 1
  sqlite3_enable_load_extension $name 1
  $name eval {SELECT load_extension($::extension)}
  $name eval {PRAGMA cache_size = 20}
}

proc close_databases {} {
  foreach name {db db2} {
    catch {$name close}
  }
}

proc delete_files {pattern} {
  foreach file [glob -nocomplain $pattern] {
    file delete -force -- $file
  }
}

# The files of a base: NAME.base, and NAME.base2 where it attaches a second one.
proc restore {name} {
  delete_files test.db*
  delete_files test2.db*
  file copy -- $name.base test.db
  if {[file exists $name.base2]} {
    file copy -- $name.base2 test2.db
  }
}

# base name sql: makes the file that scenarios start from. The script may attach 'test2.db'.
proc base {name sql} {
  delete_files test.db*
  delete_files test2.db*
  open_database db
  db eval $sql
  close_databases
  file rename -force -- test.db $name.base
  if {[file exists test2.db]} {
    file rename -force -- test2.db $name.base2
  }
}

# --- comparing -----------------------------------------------------------------------------------

proc in_transaction {} {
  return [expr {![sqlite3_get_autocommit db]}]
}

proc shown {rows} {
  return [string range $rows 0 200]
}

proc rows_of {query} {
  if {[string index $query 0] eq "!"} {
    return [uplevel #0 [string range $query 1 end]]
  }
  return [db eval $query]
}

# Pairs of queries (or, after a "!", of Tcl commands) that must give the same. "": all equal.
proc difference {pairs} {
  foreach {query mirror} $pairs {
    set is [rows_of $query]
    set expected [rows_of $mirror]
    if {$is ne $expected} {
      return "[string range $query 0 60]…: [shown $is], expected [shown $expected]"
    }
  }
  return ""
}

proc expect_equal {when pairs} {
  set difference [difference $pairs]
  if {$difference ne ""} {
    error "$when: $difference"
  }
}

proc expect_whole {when checks} {
  foreach check $checks {
    if {[catch {db eval $check} message]} {
      error "$when: $check: $message"
    }
  }
  set result [db eval {PRAGMA integrity_check}]
  if {$result ne "ok"} {
    error "$when: integrity_check: $result"
  }
}

# --- a trial -------------------------------------------------------------------------------------

# Runs the steps; keeps in ::results what each gave when `golden`, else compares with it. Returns
# how many failed. A step is SQL and its mirror:
#   {sql {}}         nothing to mirror
#   {sql mirror}     only inside of a transaction, so that the two are one
#   {2> sql mirror}  both by the second connection, in one transaction
proc run_steps {kind steps golden go_on reads} {
  set failed 0
  set number -1
  foreach {sql mirror} $steps {
    incr number
    if {[string match "2> *" $sql]} {
      if {[catch {db2 eval "BEGIN IMMEDIATE; [string range $sql 3 end]; $mirror; COMMIT"}]} {
        catch {db2 eval ROLLBACK}
        incr failed
      }
      continue
    }
    if {$mirror ne "" && ![in_transaction]} {
      continue
    }
    set inside [in_transaction]
    resume
    set rc [catch {db eval $sql} result]
    pause
    if {!$rc && $inside && ![in_transaction] && ![regexp {^(COMMIT|ROLLBACK|RELEASE)} $sql]} {
      if {![string match oom-* $kind] || ![regexp {^(CREATE|ALTER|DROP)} $sql]} {
        error "$sql: succeeded, but the transaction was undone"
      }
      incr ::lost_errors  ;# F6
      incr failed
    }
    if {$rc} {
      set code [db errorcode]
      if {![excusable $kind $sql $code $result $failed]} {
        error "$sql: error $code: $result"
      }
      incr failed
      if {!$go_on} {
        break
      }
      continue
    }
    if {$golden} {
      set ::results($number) $result
    } elseif {(!$failed || $reads) && $result ne $::results($number)} {
      error "$sql: gives [shown $result], without faults [shown $::results($number)]"
    }
    if {$mirror ne "" && [catch {db eval $mirror} message]} {
      if {[in_transaction]} {
        catch {db eval ROLLBACK}
      }
      incr failed
      break
    }
  }
  return $failed
}

# F2 … F4, after the steps. `commits`: what to do with a transaction that is still open.
proc verify {options commits} {
  array set o $options
  if {[in_transaction]} {
    if {[catch {difference $o(-compare)} difference]} {
      incr ::refusals
      if {![string match "*roll back*" $difference] && ![string match "*out of memory*" $difference]
          && ($::failed == 0)} {
        error "in the transaction: $difference"
      }
      set commits 0
    } elseif {$difference ne ""} {
      error "in the transaction: $difference"
    }
    if {$commits && [catch {db eval COMMIT} message]} {
      incr ::refusals
      set commits 0
    }
    if {!$commits && [in_transaction]} {
      db eval ROLLBACK
    }
  }
  expect_equal "after the transaction" $o(-compare)
  expect_whole "after the transaction" $o(-checks)
  if {[llength $o(-after)] > 0} {
    db eval BEGIN
    foreach {sql mirror} $o(-after) {
      if {[catch {db eval $sql} message]} {
        error "further use: $sql: $message"
      }
      db eval $mirror
    }
    db eval COMMIT
    expect_equal "after further use" $o(-compare)
  }
  close_databases
  open_database db
  if {$o(-open) ne ""} {
    eval $o(-open)
  }
  expect_equal "opened again" $o(-compare)
  expect_whole "opened again" $o(-checks)
  close_databases
}

proc note_point {text} {
  set file [open current w]
  puts $file $text
  close $file
}

# One trial. Returns the number of faults that were injected.
proc trial {name kind point options golden} {
  array set o $options
  note_point "$name $kind $point"
  restore $o(-base)
  open_database db
  if {$o(-open) ne ""} {
    eval $o(-open)
  }
  foreach sql $o(-warm) {
    db eval $sql
  }
  if {$o(-second)} {
    open_database db2
  }
  arm $kind $point
  set go_on [expr {$point % 2}]
  set rc [catch {run_steps $kind $o(-steps) $golden $go_on $o(-reads)} result]
  set count [disarm]
  set ::failed [expr {$rc ? 1 : $result}]
  if {$rc == 0} {
    catch {db2 close}
    set rc [catch {verify $options [expr {$point / 2 % 2 || $golden}]} result]
    if {$rc == 0 && $golden && $::failed > 0} {
      set rc 1
      set result "failed without a fault"
    }
  }
  close_databases
  if {$rc} {
    incr ::differences
    puts "FAILED: CUCKOO_ONLY=\"$name $kind $point\": $result"
  }
  return $count
}

# Points 1 … last, or evenly many of them.
proc chosen_points {last at_most} {
  if {$at_most == 0 || $last <= $at_most} {
    set at_most $last
  }
  set points {}
  for {set i 0} {$i < $at_most} {incr i} {
    set shift [expr {$last > $at_most ? $i % ($last / $at_most) : 0}]  ;# not every n-th only
    lappend points [expr {1 + $i * $last / $at_most + $shift}]
  }
  return $points
}

proc expect_no_leak {name kind} {
  set used [sqlite3_memory_used]
  if {$used > $::memory_used} {
    incr ::differences
    puts "FAILED: $name $kind: [expr {$used - $::memory_used}] bytes of memory lost"
  }
  set ::memory_used $used
}

proc run_kind {name kind options} {
  array set o $options
  if {$kind in $::vfs_faults} {
    testvfs faultvfs
    if {[string match shm-* $kind]} {
      faultvfs filter {xShmOpen xShmMap xShmLock}
    }
    set ::vfs faultvfs
  }
  set before $::differences
  trial $name $kind $::never $options 1
  set ::memory_used [sqlite3_memory_used]
  set last [opportunities $kind]
  set at_most $o(-most)
  if {$at_most == 0 || ($::points_at_most > 0 && $::points_at_most < $at_most)} {
    set at_most $::points_at_most
  }
  # Persistent ones differ from transient ones mostly in what comes right after; and interrupts can
  # come at any of thousands of instructions.
  if {$at_most > 20} {
    set at_most [expr {$kind eq "oom-persistent" ? $at_most / 2
      : $kind eq "interrupt" ? $at_most / 4 : $at_most}]
  }
  set points [expr {$last eq "unknown" ? "" : [chosen_points $last $at_most]}]
  if {[llength $::only] > 2} {
    set points [lindex $::only 2]
    set last 0
  }
  if {$::differences > $before} {
    set points {}  ;# it is wrong without a fault
    set last 0
  }
  set done 0
  for {set i 0} {$last eq "unknown" ? $i < 10000 : $i < [llength $points]} {incr i} {
    set point [expr {$last eq "unknown" ? $i + 1 : [lindex $points $i]}]
    set count [trial $name $kind $point $options 0]
    incr ::trials($kind)
    incr ::injected($kind) $count
    expect_no_leak $name $kind
    incr done
    if {$last eq "unknown" && ($count == 0 || ($at_most > 0 && $done >= $at_most))} {
      break
    }
  }
  if {$::vfs ne ""} {
    faultvfs delete
    set ::vfs ""
  }
}

# scenario name options…
#   -base name       the base to start from
#   -steps list      what runs under faults: SQL, mirror, SQL, mirror …
#   -compare list    pairs of queries
#   -checks list     SQL that fails when a table is damaged
#   -after list      SQL and mirror, as -steps: further use
#   -warm list       SQL to run before the faults; without it the tables were never touched
#   -open script     Tcl after each opening
#   -reads bool      no step changes anything: each gives what it gives without faults, always
#   -second bool     is there a second connection, db2
#   -faults list     kinds; all that the journal mode knows without
#   -most n          trials of a kind at most; 0: all
proc scenario {name args} {
  array set o {-base "" -steps {} -compare {} -checks {} -after {} -warm {} -open ""
    -second 0 -reads 0 -faults {oom-* ioerr-* interrupt full cantopen-*} -most 0}
  array set o $args
  if {[llength $::only] > 0 && ![string match [lindex $::only 0] $name]} {
    return
  }
  set start [clock milliseconds]
  set before $::differences
  set count 0
  foreach kind $::all_faults {
    set asked 0
    foreach pattern $o(-faults) {
      incr asked [string match $pattern $kind]
    }
    if {!$asked || ([llength $::only] > 1 && ![string match [lindex $::only 1] $kind])} {
      continue
    }
    array unset ::results
    foreach counter {trials injected} {
      if {![info exists ::${counter}($kind)]} {
        set ::${counter}($kind) 0
      }
    }
    set old $::trials($kind)
    run_kind $name $kind [array get o]
    incr count [expr {$::trials($kind) - $old}]
  }
  puts [format "%-28s %6d trials, %d failed, %.1f s" $name $count \
    [expr {$::differences - $before}] [expr {([clock milliseconds] - $start) / 1000.0}]]
}

# The last line of a file of scenarios.
proc finish {} {
  close_databases
  foreach kind [lsort [array names ::trials]] {
    puts [format "total %-20s %6d trials, %7d faults" $kind $::trials($kind) $::injected($kind)]
  }
  puts "total refusals $::refusals, lost $::lost_errors, differences $::differences"
  exit [expr {$::differences > 0}]
}
