//! run.sh's scenario by rusqlite: rust_client DIRECTORY
use rusqlite::types::Value;
use rusqlite::{params, Connection, Error, LoadExtensionGuard, ToSql};
use std::thread;

const TABLES: [&str; 5] = ["users", "seen", "ids", "kv", "ring"];
const ADA: &str = "ada@example.org";
const BOB: &str = "bob@example.org";
const ZOE: &str = "zoë@例え.jp";
const DORA: &str = "dora@example.org";
const EVE: &str = "eve@example.org";
const FRED: &str = "fred@example.org";
const GINA: &str = "gina@example.org";
const HANA: &str = "hana@example.org";
const LARGE: i64 = (1 << 53) + 1;
const DOC: &str = "SELECT doc FROM kv WHERE name = ?";
const CONTAINS: &str = "SELECT filter_contains('seen', ?)";

fn connect(path: &str) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    unsafe {
        let _guard = LoadExtensionGuard::new(&db)?;
        db.load_extension("cuckoo", None)?;
    }
    Ok(db)
}

fn text(value: &str) -> Value {
    Value::from(value.to_string())
}

fn scalar(db: &Connection, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<Value> {
    db.prepare_cached(sql)?.query_row(values, |row| row.get(0))
}

fn rows(db: &Connection, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<Vec<Vec<Value>>> {
    let mut statement = db.prepare_cached(sql)?;
    let columns = statement.column_count();
    let found = statement.query_map(values, |row| (0..columns).map(|i| row.get(i)).collect())?;
    found.collect()
}

fn column(db: &Connection, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<Vec<Value>> {
    Ok(rows(db, sql, values)?.into_iter().map(|mut row| row.remove(0)).collect())
}

fn printed(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn show(step: &str, values: impl IntoIterator<Item = Value>) {
    let words: Vec<String> = values.into_iter().map(|value| printed(&value)).collect();
    println!("{step}: {}", words.join(" "));
}

fn own(what: &str, ok: bool) {
    println!("own: {} {what}", if ok { "ok" } else { "FAILED" });
}

fn word(word: &str, text: &str, result: Result<usize, Error>) -> Value {
    Value::from(match result {
        Ok(rows) => format!("no error, {rows}"),
        Err(error) if error.to_string().contains(text) => word.to_string(),
        Err(error) => error.to_string(),
    })
}

fn fill(db: &mut Connection) -> rusqlite::Result<()> {
    let transaction = db.transaction()?;
    for (id, email) in [(1, ADA), (2, BOB), (LARGE, ZOE)] {
        transaction.execute("INSERT INTO users VALUES (?, ?)", params![id, email])?;
        transaction.execute("INSERT INTO seen VALUES (?)", [email])?;
    }
    for id in [1, 2, LARGE, i64::MAX] {
        transaction.execute("INSERT INTO ids VALUES (?)", [id])?;
    }
    let pairs: [(&str, Value); 5] = [
        ("greeting", text("hello")),
        ("note", text("Grüße 😀")),
        ("nothing", Value::Null),
        ("raw", Value::from(vec![0x00, 0xff, 0x80])),
        ("big", Value::from(i64::MAX)),
    ];
    for (name, doc) in pairs {
        transaction.execute("INSERT INTO kv VALUES (?, ?)", params![name, doc])?;
    }
    transaction.execute("INSERT INTO kv(doc) VALUES (?)", ["to be"])?;
    for (node, weight) in [("cache1", 1), ("cache2", 1), ("größe3", 2)] {
        let insert = "INSERT INTO ring(node, weight) VALUES (?, ?)";
        transaction.execute(insert, params![node, weight])?;
    }
    for email in [EVE, BOB, ZOE] {
        transaction.execute("INSERT INTO requests VALUES (?)", [email])?;
    }
    transaction.commit()?;
    let mut counts = Vec::new();
    for table in TABLES {
        counts.push(scalar(db, &format!("SELECT count(*) FROM {table}"), &[])?);
    }
    show("inserts", counts);
    Ok(())
}

fn change(db: &mut Connection, path: &str) -> rusqlite::Result<()> {
    let join = "SELECT u.id, u.email FROM requests JOIN seen USING (email) \
                JOIN users u USING (email) ORDER BY u.id";
    for row in rows(db, join, &[])? {
        show("join", row);
    }
    let listed = "SELECT email FROM seen WHERE email IN (?, ?, ?) ORDER BY email";
    show("in", column(db, listed, &[&ZOE, &EVE, &ADA])?);

    let delete = "DELETE FROM seen WHERE email = ?";
    let deleted = [db.execute(delete, [BOB])?, db.execute(delete, [BOB])?];
    let deleted = deleted.map(|rows| Value::from(rows as i64));
    show("delete", deleted.into_iter().chain([scalar(db, CONTAINS, &[&BOB])?]));

    let mut transaction = db.transaction()?;
    transaction.execute("INSERT INTO seen VALUES (?)", [DORA])?;
    let mut inside = transaction.savepoint()?;
    inside.execute("INSERT INTO seen VALUES (?)", [FRED])?;
    inside.execute(delete, [ADA])?;
    inside.execute("UPDATE kv SET doc = ? WHERE name = ?", ["bye", "greeting"])?;
    inside.rollback()?;
    inside.commit()?;
    transaction.commit()?;
    let mut state = Vec::new();
    for email in [DORA, FRED, ADA] {
        state.push(scalar(db, CONTAINS, &[&email])?);
    }
    state.push(scalar(db, DOC, &[&"greeting"])?);
    show("savepoint", state);

    let second = connect(path)?;
    let of_first = scalar(&second, CONTAINS, &[&DORA])?;
    second.execute("INSERT INTO seen VALUES (?)", [GINA])?;
    show("second connection", [of_first, scalar(db, CONTAINS, &[&GINA])?]);
    Ok(())
}

fn read(db: &mut Connection) -> rusqlite::Result<()> {
    let count = scalar(db, "SELECT count(*) FROM seen", &[])?;
    let mut state = vec![count, scalar(db, DOC, &[&"greeting"])?];
    for table in &TABLES[1..] {
        state.push(scalar(db, "SELECT cuckoo_check(?)", &[table])?);
    }
    show("reopen", state);

    let image: Vec<u8> = db.query_row("SELECT filter_export('seen')", [], |row| row.get(0))?;
    db.execute("INSERT INTO copy(copy, email) VALUES ('import', ?)", [&image])?;
    let length = scalar(db, "SELECT length(filter_export('seen'))", &[])?;
    let asked = "SELECT filter_contains(?, ?)";
    show("image", [
        Value::from(length == Value::from(image.len() as i64)),
        scalar(db, asked, &[&image, &ADA])?,
        scalar(db, asked, &[&image, &BOB])?,
        scalar(db, "SELECT count(*) FROM copy", &[])?,
        scalar(db, "SELECT filter_contains('copy', ?)", &[&ZOE])?,
    ]);

    let mut answers = Vec::new();
    for id in [LARGE, 1 << 53, i64::MAX, i64::MIN] {
        answers.push(scalar(db, "SELECT filter_contains('ids', ?)", &[&id])?);
    }
    answers.push(scalar(db, DOC, &[&"big"])?);
    answers.push(scalar(db, "SELECT typeof(doc) FROM kv WHERE name = ?", &[&"big"])?);
    show("integers", answers);
    show("text", [
        scalar(db, DOC, &[&"note"])?,
        scalar(db, CONTAINS, &[&ZOE])?,
        scalar(db, "SELECT node FROM ring WHERE key = ?", &[&"Grüße 😀"])?,
    ]);
    let address = "SELECT doc FROM kv WHERE name = sha1(?)";
    show("blob", [scalar(db, DOC, &[&"raw"])?, scalar(db, address, &[&"to be"])?]);
    let found = column(db, "SELECT email FROM seen WHERE email = ?", &[&Value::Null])?.len();
    show("null", [
        scalar(db, CONTAINS, &[&Value::Null])?,
        scalar(db, DOC, &[&"nothing"])?,
        Value::from(found as i64),
    ]);

    let transaction = db.transaction()?;
    transaction.execute("INSERT INTO seen VALUES (?)", [HANA])?;
    let again = transaction.execute("INSERT INTO kv VALUES (?, ?)", ["greeting", "again"]);
    let null = transaction.execute("INSERT INTO seen VALUES (?)", [Value::Null]);
    let list = rows(&transaction, "SELECT * FROM seen", &[]).map(|rows| rows.len());
    transaction.commit()?;
    show("refused", [
        word("duplicate", "UNIQUE constraint failed: kv.name", again),
        word("NULL", "a filter can't hold NULL", null),
        word("list", "does not know its keys", list),
        scalar(db, CONTAINS, &[&HANA])?,
    ]);

    let characters = String::from_utf8_lossy(&image);
    let imported = db.execute("INSERT INTO copy(copy, email) VALUES ('import', ?)", [characters]);
    own(
        "an image as a String: an error that says so",
        word("yes", "bind an image as a BLOB, not as TEXT", imported) == text("yes"),
    );
    own(
        "a String of digits arrives as TEXT, and finds its number in a key INTEGER",
        scalar(db, "SELECT typeof(?)", &[&"2"])? == text("text")
            && scalar(db, "SELECT filter_contains('ids', ?)", &[&"2"])? == Value::from(1),
    );
    let path = std::env::var("CUCKOO_EXTENSION").unwrap();
    let loaded = rows(db, "SELECT load_extension(?)", &[&path]).map(|rows| rows.len());
    own(
        "after the guard SQL can't load extensions",
        word("yes", "not authorized", loaded) == text("yes"),
    );
    Ok(())
}

/// Each of eight threads has a connection, and each id is sent by two of them.
fn threads(path: &str) -> rusqlite::Result<()> {
    let db = connect(path)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; CREATE TABLE events(id TEXT); \
         CREATE VIRTUAL TABLE event_ids USING \
           cuckoo_filter(id TEXT, capacity = 1e6, fpr = 1e-9, unique = on)",
    )?;
    let send = |path: String, worker: usize| -> rusqlite::Result<usize> {
        let mut db = connect(&path)?;
        let mut added = 0;
        for batch in 0..25 {
            let kind = rusqlite::TransactionBehavior::Immediate;
            let transaction = db.transaction_with_behavior(kind)?;
            for i in 0..4 {
                let id = format!("{} {batch} {i}", worker / 2);
                if transaction.execute("INSERT OR IGNORE INTO event_ids VALUES (?)", [&id])? == 1 {
                    added += transaction.execute("INSERT INTO events VALUES (?)", [&id])?;
                }
            }
            transaction.commit()?;
        }
        Ok(added)
    };
    let started: Vec<_> = (0..8)
        .map(|worker| {
            let path = path.to_string();
            thread::spawn(move || send(path, worker))
        })
        .collect();
    let mut sum = 0;
    for thread in started {
        sum += thread.join().unwrap()?;
    }
    let distinct = Value::from(4 * 25 * 4);
    own(
        "8 threads that send the same ids at once add each of them once",
        Value::from(sum as i64) == distinct
            && scalar(&db, "SELECT count(DISTINCT id) FROM events", &[])? == distinct
            && scalar(&db, "SELECT count(*) FROM events", &[])? == distinct
            && scalar(&db, "SELECT cuckoo_check('event_ids')", &[])? == text("ok"),
    );
    Ok(())
}

fn main() -> rusqlite::Result<()> {
    let path = format!("{}/client.db", std::env::args().nth(1).unwrap());
    let mut db = connect(&path)?;
    println!("client: rusqlite {}, SQLite {}", env!("RUSQLITE_VERSION"), rusqlite::version());
    db.execute_batch(include_str!("schema.sql"))?;
    let named = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1";
    show("tables", column(&db, named, &[])?);
    fill(&mut db)?;
    change(&mut db, &path)?;
    db.close().map_err(|(_, error)| error)?;
    let mut db = connect(&path)?;
    read(&mut db)?;
    threads(&format!("{path}.threads"))
}
