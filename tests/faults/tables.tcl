# What the scenarios have in common: for each kind of table its base file, steps with their mirrors,
# and how it is compared with the ordinary table beside it.

# --- filters -------------------------------------------------------------------------------------
# In the base: n holds 1 … 900; `seen` 1 … 490 and `mirror` the same; `other`, of the same geometry,
# 800 … 820; `images` an image of it. A fold is due at 504 entries of the log, and growth where the
# capacity is 500: some twenty rows from there.

set filter_kinds {
  cuckoo   {cuckoo_filter(k, capacity = 500, fingerprint_bits = 32, seed = 1)}
  exact    {cuckoo_filter(k, capacity = 700, fingerprint_bits = 32, growth = off, seed = 1)}
  bloom    {bloom_filter(k, capacity = 500, fpr = 1e-8, seed = 1)}
  blocked  {bloom_filter(k, capacity = 500, fpr = 1e-8, layout = blocked, seed = 1)}
  counting {bloom_filter(k, capacity = 500, fpr = 1e-8, counting = on, seed = 1)}
  window   {cuckoo_filter(k, capacity = 500, fingerprint_bits = 32, generations = 3, seed = 1)}
  murmur   {bloom_filter(k TEXT, capacity = 900, fpr = 1e-8, hash = murmur2, seed = 1)}
}
set multiset_kinds {cuckoo exact counting top}

set numbers {
    CREATE TABLE n(i INTEGER PRIMARY KEY);
    WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 900)
      INSERT INTO n SELECT i FROM c;
}

proc filter_base {kind definition {more {}}} {
  set with_hashes [expr {$kind in {exact murmur} ? "" : ", 'hashes'"}]
  set image [expr {$kind eq "window" ? "SELECT NULL" : "SELECT filter_export('other'$with_hashes)"}]
  base $kind "
    PRAGMA page_size = [expr {$kind eq "murmur" ? 4096 : 1024}];
    BEGIN;
    $::numbers
    CREATE VIRTUAL TABLE seen USING $definition;
    CREATE VIRTUAL TABLE other USING $definition;
    CREATE TABLE mirror(k, generation DEFAULT 0);
    INSERT INTO seen SELECT i FROM n WHERE i <= 490;
    INSERT INTO mirror(k) SELECT i FROM n WHERE i <= 490;
    INSERT INTO other SELECT i FROM n WHERE i BETWEEN 800 AND 820;
    CREATE TABLE images AS $image AS image;
    $more
    COMMIT;"
}

proc filter_compare {kind} {
  set counts [expr {$kind in $::multiset_kinds || $kind eq "window"}]
  set rows [expr {$counts ? "count(*)" : "count(DISTINCT k)"}]
  set pairs {}
  if {$kind ne "murmur"} {  ;# united without hashes, its items are an estimate
    lappend pairs {SELECT count(*) FROM seen} "SELECT $rows FROM mirror"
  }
  lappend pairs {SELECT count(*) FROM n CROSS JOIN seen s ON s.k = n.i} \
    {SELECT count(DISTINCT k) FROM mirror}
  lappend pairs {SELECT count(*) FROM mirror m
    WHERE NOT EXISTS (SELECT 1 FROM seen s WHERE s.k = m.k)} \
    {SELECT 0}
  if {$counts} {
    lappend pairs {SELECT ifnull(sum(s.count), 0) FROM n CROSS JOIN seen s ON s.k = n.i} \
      {SELECT count(*) FROM mirror}
  }
  return $pairs
}

proc filter_common {kind} {
  return [list -base $kind -compare [filter_compare $kind] \
    -checks {
      {INSERT INTO seen(seen) VALUES ('check')} {INSERT INTO other(other) VALUES ('check')}
    } \
    -after {
      {INSERT INTO seen SELECT i FROM n WHERE i BETWEEN 850 AND 870}
      {INSERT INTO mirror(k) SELECT i FROM n WHERE i BETWEEN 850 AND 870}
      {INSERT INTO seen VALUES (1)}
      {INSERT INTO mirror(k) VALUES (1)}
    }]
}

# The mirror of a DELETE, which takes one occurrence away.
proc remove_from_mirror {condition} {
  return "DELETE FROM mirror WHERE rowid IN
    (SELECT min(rowid) FROM mirror WHERE $condition GROUP BY k)"
}

proc filter_row_steps {kind} {
  set steps {
    BEGIN {}
    {INSERT INTO seen VALUES (601)} {INSERT INTO mirror(k) VALUES (601)}
    {INSERT INTO seen SELECT i FROM n WHERE i BETWEEN 601 AND 640}
    {INSERT INTO mirror(k) SELECT i FROM n WHERE i BETWEEN 601 AND 640}
    {SELECT count(*) FROM seen WHERE k IN (5, 601, 899)} {}
    {SAVEPOINT a} {}
    {INSERT INTO seen VALUES (700), (701), (702)} {INSERT INTO mirror(k) VALUES (700), (701), (702)}
  }
  if {$kind in $::multiset_kinds} {
    lappend steps {DELETE FROM seen WHERE k IN (1, 2, 3, 700, 899)} \
      [remove_from_mirror "k IN (1, 2, 3, 700)"]
  }
  lappend steps {ROLLBACK TO a} {} {INSERT INTO seen VALUES (710)} \
    {INSERT INTO mirror(k) VALUES (710)}
  if {$kind in $::multiset_kinds} {
    lappend steps {DELETE FROM seen WHERE k = 5} [remove_from_mirror "k = 5"] \
      {UPDATE seen SET k = 720 WHERE k = 10} \
      {UPDATE mirror SET k = 720 WHERE rowid = (SELECT min(rowid) FROM mirror WHERE k = 10)} \
      {INSERT INTO seen(seen, k) SELECT 'delete', i FROM n WHERE i BETWEEN 20 AND 25} \
      [remove_from_mirror "k BETWEEN 20 AND 25"]
  }
  lappend steps {RELEASE a} {} COMMIT {} \
    {SELECT filter_contains('seen', 710), filter_contains('seen', 700)} {}
  return $steps
}

proc filter_command_steps {kind} {
  set steps {}
  if {$kind ni {exact murmur}} {
    lappend steps {INSERT INTO seen(seen) VALUES ('rebuild')} {} \
      {INSERT INTO seen(seen, k) VALUES ('resize', 2000)} {}
  }
  if {$kind eq "window"} {
    set rotate {DELETE FROM mirror WHERE generation = 2;
      UPDATE mirror SET generation = generation + 1}
    lappend steps BEGIN {} {INSERT INTO seen(seen) VALUES ('rotate')} \
      $rotate \
      {INSERT INTO seen VALUES (650), (1)} {INSERT INTO mirror(k) VALUES (650), (1)} COMMIT {} \
      BEGIN {} {INSERT INTO seen(seen) VALUES ('rotate')} $rotate \
      {INSERT INTO seen(seen) VALUES ('rotate')} $rotate COMMIT {}
  } elseif {$kind eq "exact"} {
    lappend steps BEGIN {} {INSERT INTO seen(seen, k) VALUES ('merge', 'other')} \
      {INSERT INTO mirror(k) SELECT i FROM n WHERE i BETWEEN 800 AND 820} COMMIT {}
  } else {
    lappend steps BEGIN {} {INSERT INTO seen(seen, k) VALUES ('merge', 'other')} \
      {INSERT INTO mirror(k) SELECT i FROM n WHERE i BETWEEN 800 AND 820} \
      {INSERT INTO seen(seen, k) SELECT 'merge', image FROM images} \
      {INSERT INTO mirror(k) SELECT i FROM n WHERE i BETWEEN 800 AND 820} COMMIT {}
  }
  if {$kind ne "window"} {
    lappend steps BEGIN {} {INSERT INTO seen(seen, k) SELECT 'import', image FROM images} \
      {DELETE FROM mirror; INSERT INTO mirror(k) SELECT i FROM n WHERE i BETWEEN 800 AND 820} \
      COMMIT {}
  }
  lappend steps BEGIN {} {INSERT INTO seen(seen) VALUES ('clear')} {DELETE FROM mirror} \
    {INSERT INTO seen VALUES (7)} {INSERT INTO mirror(k) VALUES (7)} \
    {SELECT cuckoo_check('seen')} {} \
    {INSERT INTO seen(seen) VALUES ('check')} {} ROLLBACK {}
  return $steps
}

proc filter_read_steps {kind} {
  set steps {
    {SELECT count(*) FROM n CROSS JOIN seen s ON s.k = n.i} {}
    {SELECT i FROM n WHERE i > 485 AND EXISTS (SELECT 1 FROM seen s WHERE s.k = i)} {}
    {SELECT sum(filter_contains('seen', i)), sum(filter_contains('main.other', i)) FROM n} {}
    {SELECT filter_contains('seen', 5)} {}
    {SELECT schema, name, kind, items, capacity, fpr, hashes, generation_items FROM filter_info} {}
    {SELECT items, disk_bytes > 0, memory_bytes > 0 FROM filter_info('seen')} {}
    {SELECT count(*), sum(memory_bytes) > 0 FROM filter_plan(1000, 0.01)} {}
    {SELECT cuckoo_check('seen'), cuckoo_check('main.other')} {}
    {INSERT INTO seen(seen) VALUES ('check')} {}
    {PRAGMA integrity_check(seen)} {}
  }
  if {$kind ne "window"} {
    lappend steps {SELECT sum(filter_contains(image, i)) FROM images, n} {} \
      {SELECT hex(filter_export('other')) = hex(filter_export('main.other'))} {} \
      {SELECT items FROM filter_info((SELECT image FROM images))} {}
  }
  if {$kind eq "murmur"} {
    lappend steps {SELECT length(filter_export('other', 'legacy'))} {}
  } elseif {$kind ni {window exact}} {
    lappend steps {SELECT length(filter_export('seen', 'hashes'))} {}
  }
  return $steps
}

# --- filters of several segments -------------------------------------------------------------------
# `seen` and `mirror` hold 1 … last, of n's 17,000: with the next rows a segment is made anew, larger,
# or is split, or is folded and the log is cut, or one of several is split.

set stages {grow 4220 split 8400 fold 11560 directory 15460}

# In small transactions, as a filter grows.
proc segments_base {stage last} {
  set grow {}
  for {set first 1} {$first <= $last} {incr first 100} {
    append grow "INSERT INTO seen SELECT i FROM n
      WHERE i BETWEEN $first AND [expr {$first + 99}] AND i <= $last;"
  }
  base segments-$stage "
    PRAGMA page_size = 512;
    CREATE TABLE n(i INTEGER PRIMARY KEY);
    WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 17000)
      INSERT INTO n SELECT i FROM c;
    CREATE VIRTUAL TABLE seen USING cuckoo_filter(k, capacity = 2000, fingerprint_bits = 32,
      seed = 1);
    $grow
    CREATE TABLE mirror(k INTEGER PRIMARY KEY);
    INSERT INTO mirror SELECT i FROM n WHERE i <= $last;"
}

proc segments_common {stage} {
  return [list -base segments-$stage -compare {
      {SELECT count(*) FROM seen} {SELECT count(*) FROM mirror}
      {SELECT count(*), sum(i) FROM n WHERE EXISTS (SELECT 1 FROM seen s WHERE s.k = i)}
      {SELECT count(*), sum(k) FROM mirror}
    } -checks {
      {INSERT INTO seen(seen) VALUES ('check')}
    } -after {
      {INSERT INTO seen SELECT i FROM n WHERE i BETWEEN 16901 AND 16990}
      {INSERT INTO mirror SELECT i FROM n WHERE i BETWEEN 16901 AND 16990}
    }]
}

proc segments_steps {last} {
  set first "BETWEEN [expr {$last + 1}] AND [expr {$last + 20}]"
  set second "BETWEEN [expr {$last + 21}] AND [expr {$last + 60}]"
  return [list \
    BEGIN {} \
    "INSERT INTO seen SELECT i FROM n WHERE i $first" \
    "INSERT INTO mirror SELECT i FROM n WHERE i $first" \
    {SAVEPOINT a} {} \
    "INSERT INTO seen SELECT i FROM n WHERE i $second" \
    "INSERT INTO mirror SELECT i FROM n WHERE i $second" \
    {ROLLBACK TO a} {} \
    {DELETE FROM seen WHERE k IN (7, 8, 9)} {DELETE FROM mirror WHERE k IN (7, 8, 9)} \
    COMMIT {} \
    "INSERT INTO seen SELECT i FROM n WHERE i $second" \
    "INSERT INTO mirror SELECT i FROM n WHERE i $second" \
    {INSERT INTO seen VALUES (8)} {INSERT INTO mirror VALUES (8)}]
}

# --- filters with unique = on --------------------------------------------------------------------
# The same base, with a mirror that has each key once. Their rates are such that no key of these is
# ever taken for another.

set unique_kinds {
  unique          {cuckoo_filter(k, capacity = 500, fingerprint_bits = 32, unique = on, seed = 1)}
  unique-blocked  {bloom_filter(k, capacity = 500, fpr = 1e-8, layout = blocked, unique = on,
                   seed = 1)}
  unique-counting {bloom_filter(k, capacity = 500, fpr = 1e-8, counting = on, unique = on,
                   seed = 1)}
}

proc unique_base {kind definition} {
  base $kind "
    PRAGMA page_size = 1024;
    BEGIN;
    $::numbers
    CREATE VIRTUAL TABLE seen USING $definition;
    CREATE VIRTUAL TABLE other USING $definition;
    CREATE TABLE mirror(k INTEGER PRIMARY KEY);
    INSERT INTO seen SELECT i FROM n WHERE i <= 490;
    INSERT INTO mirror SELECT i FROM n WHERE i <= 490;
    INSERT INTO other SELECT i FROM n WHERE i BETWEEN 480 AND 560;
    CREATE TABLE images AS SELECT filter_export('other', 'hashes') AS image;
    COMMIT;"
}

proc unique_common {kind} {
  return [list -base $kind \
    -compare {
      {SELECT count(*) FROM seen} {SELECT count(*) FROM mirror}
      {SELECT i, count FROM n CROSS JOIN seen s ON s.k = n.i} {SELECT k, 1 FROM mirror ORDER BY k}
    } \
    -checks {
      {INSERT INTO seen(seen) VALUES ('check')} {INSERT INTO other(other) VALUES ('check')}
    } \
    -after [on_both {INSERT OR IGNORE INTO seen SELECT i FROM n WHERE i BETWEEN 480 AND 640} \
      {INSERT OR IGNORE INTO seen VALUES (1), (890), (1)}]]
}

# Each statement and the same for the mirror.
proc on_both {args} {
  set steps {}
  foreach sql $args {
    lappend steps $sql [string map {seen mirror} $sql]
  }
  return $steps
}

proc unique_row_steps {kind} {
  set steps [concat {BEGIN {}} [on_both \
    {INSERT OR IGNORE INTO seen VALUES (5), (601), (5), (601), (602)} \
    {INSERT OR IGNORE INTO seen SELECT i FROM n WHERE i BETWEEN 470 AND 530} \
    {INSERT OR REPLACE INTO seen VALUES (1), (730), (730)} \
    {INSERT INTO seen SELECT i FROM n WHERE i IN (7, 740) AND i NOT IN (SELECT k FROM mirror)}] \
    {{SAVEPOINT a} {}} [on_both \
    {INSERT OR IGNORE INTO seen SELECT i FROM n WHERE i BETWEEN 600 AND 650}]]
  if {$kind ne "unique-blocked"} {
    lappend steps {*}[on_both {DELETE FROM seen WHERE k IN (1, 2, 601, 899)}] \
      {*}[on_both {UPDATE OR REPLACE seen SET k = 100 WHERE k = 620}]
  }
  lappend steps {ROLLBACK TO a} {} \
    {*}[on_both {INSERT OR IGNORE INTO seen VALUES (2), (620), (710)}]
  if {$kind ne "unique-blocked"} {
    lappend steps {*}[on_both {UPDATE OR IGNORE seen SET k = 100 WHERE k IN (101, 102)} \
      {UPDATE OR REPLACE seen SET k = 100 WHERE k = 103} {UPDATE seen SET k = 720 WHERE k = 10} \
      {DELETE FROM seen WHERE k = 11} {INSERT OR IGNORE INTO seen VALUES (10), (11), (720)}]
  }
  lappend steps {RELEASE a} {} COMMIT {} \
    {SELECT filter_contains('seen', 710), filter_contains('seen', 650)} {}
  return $steps
}

proc unique_command_steps {} {
  set merged {INSERT OR IGNORE INTO mirror SELECT i FROM n WHERE i BETWEEN 480 AND 560}
  return [list {INSERT INTO seen(seen) VALUES ('rebuild')} {} \
    {INSERT INTO seen(seen, k) VALUES ('resize', 2000)} {} \
    BEGIN {} {INSERT INTO seen(seen, k) VALUES ('merge', 'other')} $merged \
    {INSERT INTO seen(seen, k) SELECT 'merge', image FROM images} $merged COMMIT {} \
    BEGIN {} {INSERT INTO seen(seen, k) SELECT 'import', image FROM images} \
    "DELETE FROM mirror; $merged" \
    {INSERT OR IGNORE INTO seen VALUES (500), (600)} \
    {INSERT OR IGNORE INTO mirror VALUES (500), (600)} COMMIT {} \
    BEGIN {} {INSERT INTO seen(seen) VALUES ('clear')} {DELETE FROM mirror} \
    {INSERT OR IGNORE INTO seen VALUES (7), (7)} {INSERT INTO mirror VALUES (7)} ROLLBACK {}]
}

# --- filters with top ----------------------------------------------------------------------------
# The base, with keys that came more often: 1 four times, 2 five times, 3 six times. A key that is
# removed stays above all that are not listed, so the list has the highest counts of the mirror.

proc top_base {} {
  filter_base top {cuckoo_filter(k, capacity = 500, fingerprint_bits = 32, seed = 1, top = 3)} {
    INSERT INTO seen(k, count) VALUES (1, 3), (2, 4), (3, 5);
    INSERT INTO mirror(k) VALUES (1), (1), (1), (2), (2), (2), (2), (3), (3), (3), (3), (3);
  }
}

proc top_common {} {
  set common [filter_common top]
  dict lappend common -compare \
    {SELECT count FROM filter_top('seen')} \
    {SELECT count(*) AS c FROM mirror GROUP BY k ORDER BY c DESC LIMIT 3} \
    {SELECT count(*) FROM filter_top('seen') t
      WHERE t.count <> (SELECT count(*) FROM mirror m WHERE m.k = t.key)} {SELECT 0}
  return $common
}

set top_steps [list BEGIN {} \
    {INSERT INTO seen SELECT i FROM n WHERE i BETWEEN 600 AND 640} \
    {INSERT INTO mirror(k) SELECT i FROM n WHERE i BETWEEN 600 AND 640} \
    {INSERT INTO seen(k, count) VALUES (710, 8)} \
    {INSERT INTO mirror(k) SELECT 710 FROM n WHERE i <= 8} \
    {SAVEPOINT a} {} \
    {INSERT INTO seen(k, count) VALUES (720, 20), (730, 30)} \
    {INSERT INTO mirror(k) SELECT 720 FROM n WHERE i <= 20;
     INSERT INTO mirror(k) SELECT 730 FROM n WHERE i <= 30} \
    {DELETE FROM seen WHERE k IN (2, 3)} [remove_from_mirror "k IN (2, 3)"] \
    {ROLLBACK TO a} {} \
    {SELECT sum(count) FROM filter_top('seen')} {} \
    {UPDATE seen SET k = 740 WHERE k = 10} \
    {UPDATE mirror SET k = 740 WHERE rowid = (SELECT min(rowid) FROM mirror WHERE k = 10)} \
    {DELETE FROM seen WHERE k = 3} [remove_from_mirror "k = 3"] \
    {RELEASE a} {} COMMIT {} \
    {INSERT INTO seen(seen) VALUES ('rebuild')} {} \
    {INSERT INTO seen(k, count) VALUES (4, 9)} {INSERT INTO mirror(k) SELECT 4 FROM n WHERE i <= 9} \
    BEGIN {} {INSERT INTO seen(seen) VALUES ('clear')} {DELETE FROM mirror} \
    {INSERT INTO seen VALUES (7), (7)} {INSERT INTO mirror(k) VALUES (7), (7)} ROLLBACK {} \
    {INSERT INTO seen(seen) VALUES ('clear')} {DELETE FROM mirror}]

# Aggregates: what they make is asked at once; nothing is stored.
set aggregate_steps {
  {SELECT length(cuckoo_build(i)), length(bloom_build(i, 0.01, 2000, 7)) FROM n} {}
  {SELECT sum(filter_contains(f, i)) FROM n, (SELECT cuckoo_build(i, 0.0001, 1000) AS f FROM n)} {}
  {SELECT sum(filter_contains(u, i)) FROM n, (SELECT filter_union(f) AS u FROM
     (SELECT bloom_build(i, 0.0001, 1000) AS f FROM n GROUP BY i % 3))} {}
  {SELECT length(filter_union(f)) FROM
     (SELECT cuckoo_build(i, 0.01, 1000) AS f FROM n GROUP BY i % 2)} {}
  {SELECT sum(filter_contains(u, i)) FROM n, (SELECT filter_union(f) AS u FROM
     (SELECT cuckoo_build(i, 0.01 / (1 + i % 3), NULL, 0, 'hashes') AS f FROM n GROUP BY i % 3))} {}
  {SELECT length(filter_union(f)) FROM
     (SELECT bloom_build(i, 0.01, 1000, 0, iif(i % 2, 'hashes', NULL)) AS f FROM n GROUP BY i % 2)} {}
  {SELECT i % 100, length(cuckoo_build(i)) FROM n GROUP BY 1 LIMIT 3} {}
  {SELECT sha1('a'), sha1(x'00'), sha1(17), sha1(zeroblob(1000))} {}
}

# --- flash_kv ------------------------------------------------------------------------------------
# A chip of 64 blocks of 1 KB, two thirds full, and a value that spans sectors: writing collects.

proc flash_base {} {
  base flash {
    BEGIN;
    CREATE TABLE n(i INTEGER PRIMARY KEY);
    WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 400)
      INSERT INTO n SELECT i FROM c;
    CREATE VIRTUAL TABLE kv USING flash_kv(name, doc, size = '64KB', sector_size = 512,
      erase_block = 2, seed = 1);
    CREATE TABLE mirror(name PRIMARY KEY, doc) WITHOUT ROWID;
    INSERT INTO kv SELECT i, 'value ' || i FROM n;
    INSERT INTO mirror SELECT i, 'value ' || i FROM n;
    COMMIT;
    INSERT OR REPLACE INTO kv SELECT i, 'newer ' || i FROM n;
    INSERT OR REPLACE INTO mirror SELECT i, 'newer ' || i FROM n;
  }
}

set flash_compare {
  {SELECT name, typeof(doc), doc FROM kv ORDER BY name}
  {SELECT name, typeof(doc), doc FROM mirror ORDER BY name}
  {SELECT count(*) FROM mirror m WHERE (SELECT doc FROM kv WHERE name = m.name) IS NOT m.doc}
  {SELECT 0}
  {SELECT count(*) FROM kv WHERE name IN (401, 'absent')}
  {SELECT count(*) FROM mirror WHERE name IN (401, 'absent')}
}
set flash_common [list -base flash -compare $flash_compare \
  -checks {{INSERT INTO kv(kv) VALUES ('check')}} \
  -after {
    {INSERT OR REPLACE INTO kv SELECT i, -i FROM n WHERE i % 9 = 0}
    {INSERT OR REPLACE INTO mirror SELECT i, -i FROM n WHERE i % 9 = 0}
    {DELETE FROM kv WHERE name = 399}
    {DELETE FROM mirror WHERE name = 399}
  }]

# Each statement and, as SQLite has UPSERT on neither, the same for the mirror.
proc both {args} {
  set steps {}
  foreach sql $args {
    lappend steps $sql [string map {" kv" " mirror"} $sql]
  }
  return $steps
}

set flash_row_steps [concat {BEGIN {}} [both \
    {INSERT INTO kv VALUES ('a', 1.5), ('b', NULL), ('c', x'00ff')} \
    {UPDATE kv SET doc = 'changed' WHERE name = 7} \
    {INSERT OR REPLACE INTO kv SELECT i, 'again ' || i FROM n WHERE i BETWEEN 100 AND 160}] \
  {{SAVEPOINT a} {}} [both \
    {DELETE FROM kv WHERE name BETWEEN 1 AND 20} \
    {INSERT INTO kv VALUES ('long', hex(zeroblob(1500)))}] \
  {{ROLLBACK TO a} {}} [both \
    {INSERT OR IGNORE INTO kv VALUES (1, 'ignored'), ('d', 'kept')} \
    {UPDATE kv SET name = name + 1000 WHERE name IN (30, 31, 32)} \
    {DELETE FROM kv WHERE name = 'absent' OR name = 50}] \
  {{RELEASE a} {} COMMIT {} {SELECT count(*), sum(length(doc)) FROM kv} {}}]

set flash_command_steps [concat {
    {INSERT INTO kv(kv) VALUES ('collect')} {}
    {INSERT INTO kv(kv, name) VALUES ('resize', '80KB')} {}
    {INSERT INTO kv(kv) VALUES ('check')} {}
    BEGIN {}} [both {INSERT OR REPLACE INTO kv SELECT i, i FROM n WHERE i < 40}] {
    {INSERT INTO kv(kv) VALUES ('collect')} {}
    {INSERT INTO kv(kv, name) VALUES ('resize', '96KB')} {}} \
  [both {DELETE FROM kv WHERE name > 380}] {
    {SELECT cuckoo_check('kv')} {}
    COMMIT {}
    BEGIN {}
    {INSERT INTO kv(kv) VALUES ('clear')} {DELETE FROM mirror}} \
  [both {INSERT INTO kv VALUES (5000, 2)}] {
    ROLLBACK {}}]

set flash_read_steps {
  {SELECT count(*), sum(length(doc)) FROM kv} {}
  {SELECT n.i, kv.doc FROM n CROSS JOIN kv ON kv.name = n.i WHERE n.i % 50 = 0} {}
  {SELECT doc, seq, sector >= 0, digest FROM kv WHERE name = 77} {}
  {SELECT schema, name, entries, live_bytes, erases FROM flash_kv_info} {}
  {SELECT count(*), sum(live_bytes) FROM flash_kv_sectors('kv')} {}
  {SELECT length(flash_kv_map('kv')) > 1000} {}
  {SELECT cuckoo_check('kv')} {}
  {INSERT INTO kv(kv) VALUES ('check')} {}
  {PRAGMA integrity_check(kv)} {}
}

# --- hash_ring -----------------------------------------------------------------------------------
# The mirror holds the nodes and, after each change, the owners that the ring then named.

set ring_kinds {
  ring   {hash_ring(vnodes = 50, seed = 1)}
  ketama {hash_ring(algorithm = ketama)}
  slots  {hash_ring(algorithm = slots, seed = 1)}
}
set ring_owners {
  DELETE FROM owners;
  INSERT INTO owners SELECT i, (SELECT node FROM ring WHERE key = i) FROM n;
}

proc ring_base {kind definition} {
  base $kind "
    BEGIN;
    CREATE TABLE n(i INTEGER PRIMARY KEY);
    WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 50)
      INSERT INTO n SELECT i FROM c;
    CREATE VIRTUAL TABLE ring USING $definition;
    CREATE TABLE mirror(node PRIMARY KEY, weight);
    CREATE TABLE owners(i PRIMARY KEY, node);
    INSERT INTO ring(node, weight) VALUES ('a', 1), ('b', 2), ('c', 1), ('d', 0.5);
    INSERT INTO mirror VALUES ('a', 1), ('b', 2), ('c', 1), ('d', 0.5);
    CREATE TABLE images AS SELECT hash_ring_export('ring') AS image;
    $::ring_owners
    COMMIT;"
}

set ring_compare {
  {SELECT node, weight FROM ring ORDER BY node} {SELECT node, weight FROM mirror ORDER BY node}
  {SELECT i, (SELECT node FROM ring WHERE key = i) FROM n} {SELECT i, node FROM owners ORDER BY i}
}

proc ring_step {sql} {
  set mirror [string map {" ring(node, weight)" " mirror" " ring " " mirror "} $sql]
  return [list $sql "$mirror; $::ring_owners"]
}

set ring_steps [concat {BEGIN {}} \
  [ring_step {INSERT INTO ring(node, weight) VALUES ('e', 1), ('f', 3)}] \
  [ring_step {UPDATE ring SET weight = 4 WHERE node = 'a'}] \
  {{SAVEPOINT s} {}} \
  [ring_step {DELETE FROM ring WHERE node IN ('b', 'e')}] \
  [ring_step {INSERT INTO ring(node, weight) VALUES ('g', 1)}] \
  {{ROLLBACK TO s} {}} \
  [ring_step {DELETE FROM ring WHERE node = 'c'}] \
  {{RELEASE s} {}} \
  [ring_step {UPDATE ring SET node = 'z' WHERE node = 'd'}] \
  {{INSERT INTO ring(ring) VALUES ('check')} {} {SELECT cuckoo_check('ring')} {}
   {PRAGMA integrity_check(ring)} {} COMMIT {}
   {SELECT node, replica FROM ring WHERE key = 'x' AND replicas = 3} {}
   {SELECT count(*), round(sum(share), 6) FROM hash_ring_moves('ring', 'remove', 'a')} {}
   BEGIN {}} \
  [list {INSERT INTO ring(ring) VALUES ('clear')} "DELETE FROM mirror; $ring_owners"] \
  [ring_step {INSERT INTO ring(node, weight) VALUES ('only', 1)}] \
  {ROLLBACK {} {SELECT hash_ring_mark('ring'), length(hash_ring_export('ring'))} {}} \
  [list {INSERT INTO ring(ring, node) SELECT 'import', image FROM images} "
    DELETE FROM mirror; INSERT INTO mirror VALUES ('a', 1), ('b', 2), ('c', 1), ('d', 0.5);
    $ring_owners"] \
  [ring_step {UPDATE ring SET weight = 2 WHERE node = 'c'}]]

proc ring_common {kind} {
  return [list -base $kind -compare $::ring_compare \
    -checks {{INSERT INTO ring(ring) VALUES ('check')}} \
    -after [ring_step {INSERT INTO ring(node, weight) VALUES ('late', 2)}]]
}
