// run.sh's scenario by Go's database/sql and mattn/go-sqlite3: go_client DIRECTORY
package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/mattn/go-sqlite3"
)

const (
	ada, bob, zoe   = "ada@example.org", "bob@example.org", "zoë@例え.jp"
	dora, eve, fred = "dora@example.org", "eve@example.org", "fred@example.org"
	gina, hana      = "gina@example.org", "hana@example.org"
	large           = int64(1)<<53 + 1
	largest         = int64(math.MaxInt64)
	doc             = "SELECT doc FROM kv WHERE name = ?"
	contains        = "SELECT filter_contains('seen', ?)"
)

var (
	tables = []string{"users", "seen", "ids", "kv", "ring"}
	path   = filepath.Join(os.Args[1], "client.db")
)

// What runs statements: a *sql.DB, or a *sql.Tx.
type runner interface {
	Exec(query string, args ...any) (sql.Result, error)
	Query(query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func open(file string) *sql.DB {
	db, err := sql.Open("sqlite3_cuckoo", "file:"+file+"?_busy_timeout=5000&_txlock=immediate")
	must(err)
	return db
}

func run(db runner, query string, args ...any) int64 {
	result, err := db.Exec(query, args...)
	must(err)
	changed, err := result.RowsAffected()
	must(err)
	return changed
}

func scalar(db runner, query string, args ...any) any {
	var value any
	must(db.QueryRow(query, args...).Scan(&value))
	return value
}

// Returns all rows.
func lines(db runner, query string, args ...any) [][]any {
	rows, err := db.Query(query, args...)
	must(err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(err)
	found := [][]any{}
	for rows.Next() {
		values, pointers := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			pointers[i] = &values[i]
		}
		must(rows.Scan(pointers...))
		found = append(found, values)
	}
	must(rows.Err())
	return found
}

func column(db runner, query string, args ...any) []any {
	values := []any{}
	for _, row := range lines(db, query, args...) {
		values = append(values, row[0])
	}
	return values
}

func show(step string, values ...any) {
	line := step + ":"
	for _, value := range values {
		switch value := value.(type) {
		case nil:
			line += " NULL"
		case []byte:
			line += " " + string(value)
		default:
			line += fmt.Sprint(" ", value)
		}
	}
	fmt.Println(line)
}

func own(what string, ok bool) {
	word := "FAILED"
	if ok {
		word = "ok"
	}
	fmt.Println("own:", word, what)
}

func refused(word, text string, err error) string {
	if err == nil {
		return "no error"
	}
	if strings.Contains(err.Error(), text) {
		return word
	}
	return err.Error()
}

// Returns the error of a statement, or nil.
func fails(db runner, query string, args ...any) error {
	rows, err := db.Query(query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

func inTransaction(db *sql.DB, work func(tx *sql.Tx)) {
	tx, err := db.Begin()
	must(err)
	work(tx)
	must(tx.Commit())
}

func fill(db *sql.DB) {
	inTransaction(db, func(tx *sql.Tx) {
		user, err := tx.Prepare("INSERT INTO users VALUES (?, ?)")
		must(err)
		for _, row := range [][]any{{1, ada}, {2, bob}, {large, zoe}} {
			_, err = user.Exec(row...)
			must(err)
			run(tx, "INSERT INTO seen VALUES (?)", row[1])
		}
		for _, id := range []int64{1, 2, large, largest} {
			run(tx, "INSERT INTO ids VALUES (?)", id)
		}
		for _, pair := range [][]any{{"greeting", "hello"}, {"note", "Grüße 😀"},
			{"nothing", nil}, {"raw", []byte{0, 0xff, 0x80}}, {"big", largest}} {
			run(tx, "INSERT INTO kv VALUES (?, ?)", pair...)
		}
		run(tx, "INSERT INTO kv(doc) VALUES (?)", "to be")
		for _, node := range [][]any{{"cache1", 1}, {"cache2", 1}, {"größe3", 2}} {
			run(tx, "INSERT INTO ring(node, weight) VALUES (?, ?)", node...)
		}
		for _, email := range []string{eve, bob, zoe} {
			run(tx, "INSERT INTO requests VALUES (?)", email)
		}
	})
	counts := []any{}
	for _, table := range tables {
		counts = append(counts, scalar(db, "SELECT count(*) FROM "+table))
	}
	show("inserts", counts...)
}

func change(db *sql.DB) {
	for _, row := range lines(db, "SELECT u.id, u.email FROM requests JOIN seen USING (email)"+
		" JOIN users u USING (email) ORDER BY u.id") {
		show("join", row...)
	}
	show("in", column(db, "SELECT email FROM seen WHERE email IN (?, ?, ?) ORDER BY email",
		zoe, eve, ada)...)

	remove := "DELETE FROM seen WHERE email = ?"
	show("delete", run(db, remove, bob), run(db, remove, bob), scalar(db, contains, bob))

	inTransaction(db, func(tx *sql.Tx) {
		run(tx, "INSERT INTO seen VALUES (?)", dora)
		run(tx, "SAVEPOINT inside")
		run(tx, "INSERT INTO seen VALUES (?)", fred)
		run(tx, remove, ada)
		run(tx, "UPDATE kv SET doc = ? WHERE name = ?", "bye", "greeting")
		run(tx, "ROLLBACK TO inside")
		run(tx, "RELEASE inside")
	})
	show("savepoint", scalar(db, contains, dora), scalar(db, contains, fred),
		scalar(db, contains, ada), scalar(db, doc, "greeting"))

	second := open(path)
	ofFirst := scalar(second, contains, dora)
	run(second, "INSERT INTO seen VALUES (?)", gina)
	show("second connection", ofFirst, scalar(db, contains, gina))
	must(second.Close())
}

func read(db *sql.DB) {
	state := []any{scalar(db, "SELECT count(*) FROM seen"), scalar(db, doc, "greeting")}
	for _, table := range tables[1:] {
		state = append(state, scalar(db, "SELECT cuckoo_check(?)", table))
	}
	show("reopen", state...)

	image := scalar(db, "SELECT filter_export('seen')").([]byte)
	run(db, "INSERT INTO copy(copy, email) VALUES ('import', ?)", image)
	same := 0
	if scalar(db, "SELECT length(filter_export('seen'))") == int64(len(image)) {
		same = 1
	}
	show("image", same, scalar(db, "SELECT filter_contains(?, ?)", image, ada),
		scalar(db, "SELECT filter_contains(?, ?)", image, bob),
		scalar(db, "SELECT count(*) FROM copy"),
		scalar(db, "SELECT filter_contains('copy', ?)", zoe))

	answers := []any{}
	for _, id := range []int64{large, 1 << 53, largest, math.MinInt64} {
		answers = append(answers, scalar(db, "SELECT filter_contains('ids', ?)", id))
	}
	answers = append(answers, scalar(db, doc, "big"),
		scalar(db, "SELECT typeof(doc) FROM kv WHERE name = ?", "big"))
	show("integers", answers...)
	show("text", scalar(db, doc, "note"), scalar(db, contains, zoe),
		scalar(db, "SELECT node FROM ring WHERE key = ?", "Grüße 😀"))
	show("blob", hex.EncodeToString(scalar(db, doc, "raw").([]byte)),
		scalar(db, "SELECT doc FROM kv WHERE name = sha1(?)", "to be"))
	show("null", scalar(db, contains, nil), scalar(db, doc, "nothing"),
		len(lines(db, "SELECT email FROM seen WHERE email = ?", nil)))

	words := []any{}
	inTransaction(db, func(tx *sql.Tx) {
		run(tx, "INSERT INTO seen VALUES (?)", hana)
		words = append(words,
			refused("duplicate", "UNIQUE constraint failed: kv.name",
				fails(tx, "INSERT INTO kv VALUES (?, ?)", "greeting", "again")),
			refused("NULL", "a filter can't hold NULL",
				fails(tx, "INSERT INTO seen VALUES (?)", nil)),
			refused("list", "does not know its keys", fails(tx, "SELECT * FROM seen")))
	})
	show("refused", append(words, scalar(db, contains, hana))...)

	own("a string of digits arrives as TEXT, and finds its number in a key INTEGER",
		scalar(db, "SELECT typeof(?)", "2") == "text" &&
			scalar(db, "SELECT typeof(?)", 2) == "integer" &&
			scalar(db, "SELECT filter_contains('ids', ?)", "2") == int64(1))
	own("an image as a string: an error that says so",
		refused("yes", "bind an image as a BLOB, not as TEXT", fails(db,
			"INSERT INTO copy(copy, email) VALUES ('import', ?)", string(image))) == "yes")
	own("SQL can't load extensions", refused("yes", "not authorized",
		fails(db, "SELECT load_extension(?)", os.Getenv("CUCKOO_EXTENSION"))) == "yes")
}

// Eight goroutines share a pool. Each id is sent by two of them, and one of the two adds it.
func goroutines() {
	const workers, batches, size = 8, 25, 4
	db := open(path + ".goroutines")
	run(db, "PRAGMA journal_mode = WAL")
	run(db, "CREATE TABLE events(id TEXT)")
	run(db, "CREATE VIRTUAL TABLE event_ids USING"+
		" cuckoo_filter(id TEXT, capacity = 1e6, fpr = 1e-9, unique = on)")
	var group sync.WaitGroup
	added, opened := make([]int64, workers), 0
	for worker := 0; worker < workers; worker++ {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			for batch := 0; batch < batches; batch++ {
				inTransaction(db, func(tx *sql.Tx) {
					for i := 0; i < size; i++ {
						id := fmt.Sprint(worker/2, " ", batch, " ", i)
						if run(tx, "INSERT OR IGNORE INTO event_ids VALUES (?)", id) == 1 {
							added[worker] += run(tx, "INSERT INTO events VALUES (?)", id)
						}
					}
				})
				if scalar(db, "SELECT filter_contains('event_ids', ?)",
					fmt.Sprint(worker/2, " ", batch, " 0")) != int64(1) {
					panic("an id that was added is not there")
				}
			}
		}(worker)
	}
	group.Wait()
	opened = db.Stats().OpenConnections
	sum := int64(0)
	for _, count := range added {
		sum += count
	}
	distinct := int64(workers / 2 * batches * size)
	own("8 goroutines that send the same ids at once add each of them once", sum == distinct &&
		scalar(db, "SELECT count(*) FROM events") == distinct &&
		scalar(db, "SELECT count(DISTINCT id) FROM events") == distinct &&
		scalar(db, "SELECT cuckoo_check('event_ids')") == "ok")
	own("the pool keeps two connections, unless it is told to keep more", opened <= 2)
	must(db.Close())

	db = open(path + ".goroutines")
	db.SetMaxIdleConns(workers)
	all := []*sql.Conn{}
	for i := 0; i < workers; i++ {
		connection, err := db.Conn(context.Background())
		must(err)
		all = append(all, connection)
	}
	knows := true
	for _, connection := range all {
		var answer int
		must(connection.QueryRowContext(context.Background(),
			"SELECT filter_contains('event_ids', '0 0 0')").Scan(&answer))
		knows = knows && answer == 1
	}
	for _, connection := range all {
		must(connection.Close())
	}
	own("each connection of a pool has the extension, and the pool keeps them",
		knows && db.Stats().OpenConnections == workers)
	must(db.Close())
}

func main() {
	sql.Register("sqlite3_cuckoo", &sqlite3.SQLiteDriver{Extensions: []string{"cuckoo"}})
	db := open(path)
	version, _, _ := sqlite3.Version()
	fmt.Printf("client: Go %s, go-sqlite3, SQLite %s\n",
		strings.TrimPrefix(runtime.Version(), "go"), version)
	schema, err := os.ReadFile("tests/clients/schema.sql")
	must(err)
	run(db, string(schema))
	show("tables", column(db,
		"SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1")...)
	fill(db)
	change(db)
	must(db.Close())
	db = open(path)
	read(db)
	must(db.Close())
	goroutines()
}
