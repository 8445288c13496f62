package cuckoo_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"
	"sqlite-cuckoo/cuckoo"
)

func open(t *testing.T) *sql.DB {
	t.Helper()
	for i := 0; i < 2; i++ { // a second call changes nothing
		if err := cuckoo.Auto(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite3", filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

type querier interface {
	Exec(query string, args ...any) (sql.Result, error)
	QueryRow(query string, args ...any) *sql.Row
}

func run(t *testing.T, db querier, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// gives fails the test unless the query has this one value, as text.
func gives(t *testing.T, db querier, expected string, query string, args ...any) {
	t.Helper()
	var found string
	if err := db.QueryRow(query, args...).Scan(&found); err != nil || found != expected {
		t.Fatalf("%s: %s (%v), expected %s", query, found, err, expected)
	}
}

const contains = "SELECT filter_contains('seen', ?)"

func withSource(t *testing.T) *sql.DB {
	db := open(t)
	run(t, db, "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT)")
	run(t, db, "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email),"+
		" triggers = on, fpr = 1e-9, seed = 1)")
	run(t, db, "INSERT INTO users(email) VALUES ('ada@example.org'), ('bob@example.org')")
	return db
}

func TestFilterHasWhatWasAdded(t *testing.T) {
	db := open(t)
	run(t, db, "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT, fpr = 1e-9, seed = 1)")
	run(t, db, "INSERT INTO seen VALUES (?)", "ada@example.org")
	gives(t, db, "1", contains, "ada@example.org")
	gives(t, db, "0", contains, "eve@example.org")
	run(t, db, "DELETE FROM seen WHERE email = ?", "ada@example.org")
	gives(t, db, "0", contains, "ada@example.org")
}

func TestTriggersFillAFilter(t *testing.T) {
	db := withSource(t)
	gives(t, db, "1", contains, "bob@example.org")
	run(t, db, "DELETE FROM users WHERE email = 'bob@example.org'")
	run(t, db, "UPDATE users SET email = 'zoë@例え.jp'")
	gives(t, db, "1", contains, "zoë@例え.jp")
	gives(t, db, "0", contains, "ada@example.org")
	gives(t, db, "0", contains, "bob@example.org")
	gives(t, db, "1", "SELECT count(*) FROM seen")
}

func TestGuardGivesTheRowsOfItsTable(t *testing.T) {
	db := withSource(t)
	run(t, db, "CREATE VIRTUAL TABLE guarded USING filter_guard(seen)")
	gives(t, db, "2", "SELECT id FROM guarded WHERE email = ?", "bob@example.org")
	gives(t, db, "0", "SELECT count(*) FROM guarded WHERE email = ?", "eve@example.org")
	gives(t, db, "2", "SELECT count(*) FROM guarded")
}

func TestRolledBackTransactionLeavesNothing(t *testing.T) {
	db := withSource(t)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	run(t, tx, "INSERT INTO users(email) VALUES ('kept@example.org')")
	run(t, tx, "SAVEPOINT s")
	run(t, tx, "INSERT INTO users(email) VALUES ('gone@example.org')")
	gives(t, tx, "1", contains, "gone@example.org")
	run(t, tx, "ROLLBACK TO s")
	gives(t, tx, "0", contains, "gone@example.org")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	tx, err = db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	run(t, tx, "DELETE FROM users")
	gives(t, tx, "0", contains, "kept@example.org")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	gives(t, db, "1", contains, "kept@example.org")
	gives(t, db, "1", contains, "ada@example.org")
	gives(t, db, "ok", "SELECT cuckoo_check('seen')")
}

func TestErrorHasItsText(t *testing.T) {
	_, err := withSource(t).Exec("INSERT INTO seen VALUES (NULL)")
	if err == nil || !strings.Contains(err.Error(), "a filter can't hold NULL") {
		t.Fatal(err)
	}
}

func TestEachConnectionOfAPoolHasIt(t *testing.T) {
	db := withSource(t)
	for i := 0; i < 4; i++ { // none is given back, so each is a new one
		connection, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		var there int
		row := connection.QueryRowContext(context.Background(), contains, "ada@example.org")
		if err := row.Scan(&there); err != nil || there != 1 {
			t.Fatal(there, err)
		}
	}
}
