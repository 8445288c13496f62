//! The tables in connections of rusqlite.
use rusqlite::{Connection, Result};

fn open() -> Connection {
    sqlite_cuckoo::register().unwrap();
    sqlite_cuckoo::register().unwrap(); // a second call changes nothing
    Connection::open_in_memory().unwrap()
}

fn contains(db: &Connection, key: &str) -> bool {
    db.query_row("SELECT filter_contains('seen', ?)", [key], |row| row.get(0)).unwrap()
}

fn count(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn with_source() -> Connection {
    let db = open();
    db.execute_batch(
        "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT);
         CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email), triggers = on,
           fpr = 1e-9, seed = 1);
         INSERT INTO users(email) VALUES ('ada@example.org'), ('bob@example.org');",
    )
    .unwrap();
    db
}

#[test]
fn version() {
    let version: String =
        open().query_row("SELECT cuckoo_version()", [], |row| row.get(0)).unwrap();
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_filter_has_what_was_added() -> Result<()> {
    let db = open();
    db.execute_batch(
        "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT, fpr = 1e-9, seed = 1)",
    )?;
    assert_eq!(db.execute("INSERT INTO seen VALUES (?)", ["ada@example.org"])?, 1);
    assert!(contains(&db, "ada@example.org"));
    assert!(!contains(&db, "eve@example.org"));
    assert_eq!(db.execute("DELETE FROM seen WHERE email = ?", ["ada@example.org"])?, 1);
    assert!(!contains(&db, "ada@example.org"));
    Ok(())
}

#[test]
fn triggers_fill_a_filter() -> Result<()> {
    let db = with_source();
    assert!(contains(&db, "ada@example.org") && contains(&db, "bob@example.org"));
    db.execute("DELETE FROM users WHERE email = 'bob@example.org'", [])?;
    db.execute("UPDATE users SET email = 'zoë@例え.jp'", [])?;
    assert!(contains(&db, "zoë@例え.jp"));
    assert!(!contains(&db, "ada@example.org") && !contains(&db, "bob@example.org"));
    assert_eq!(count(&db, "SELECT count(*) FROM seen"), 1);
    Ok(())
}

#[test]
fn a_guard_gives_the_rows_of_its_table() -> Result<()> {
    let db = with_source();
    db.execute_batch("CREATE VIRTUAL TABLE guarded USING filter_guard(seen)")?;
    let mut of = db.prepare("SELECT id FROM guarded WHERE email = ?")?;
    assert_eq!(of.query_row(["bob@example.org"], |row| row.get::<_, i64>(0))?, 2);
    assert!(!of.exists(["eve@example.org"])?);
    assert_eq!(count(&db, "SELECT count(*) FROM guarded"), 2);
    Ok(())
}

#[test]
fn a_rolled_back_transaction_leaves_nothing() -> Result<()> {
    let mut db = with_source();
    let mut outer = db.transaction()?;
    outer.execute("INSERT INTO users(email) VALUES ('kept@example.org')", [])?;
    let inner = outer.savepoint()?;
    inner.execute("INSERT INTO users(email) VALUES ('gone@example.org')", [])?;
    assert!(contains(&inner, "gone@example.org"));
    drop(inner); // rolls back
    assert!(contains(&outer, "kept@example.org") && !contains(&outer, "gone@example.org"));
    outer.commit()?;
    let whole = db.transaction()?;
    whole.execute("DELETE FROM users", [])?;
    assert!(!contains(&whole, "kept@example.org"));
    drop(whole);
    assert!(contains(&db, "kept@example.org") && contains(&db, "ada@example.org"));
    assert_eq!(count(&db, "SELECT cuckoo_check('seen') = 'ok'"), 1);
    Ok(())
}

#[test]
fn an_error_has_its_text() {
    let error = with_source().execute("INSERT INTO seen VALUES (NULL)", []).unwrap_err();
    assert!(error.to_string().contains("a filter can't hold NULL"), "{error}");
}

#[test]
fn the_entry_point_may_be_called_again() -> Result<()> {
    let db = open();
    let code = unsafe {
        sqlite_cuckoo::sqlite3_cuckoo_init(db.handle(), std::ptr::null_mut(), std::ptr::null())
    };
    assert_eq!(code, 0);
    assert_eq!(count(&db, "SELECT cuckoo_version() IS NOT NULL"), 1);
    Ok(())
}

#[test]
fn digests_are_there_with_openssl() {
    let db = open();
    let digest: Result<String> = db.query_row("SELECT sha1('abc')", [], |row| row.get(0));
    if cfg!(feature = "openssl") {
        assert_eq!(digest.unwrap(), "a9993e364706816aba3e25717850c26c9cd0d89d");
    } else {
        let error = digest.unwrap_err().to_string();
        assert!(error.contains("this build has no OpenSSL"), "{error}");
    }
}
