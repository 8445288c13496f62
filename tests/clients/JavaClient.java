// run.sh's scenario by sqlite-jdbc, in the repository's root: JavaClient.java DIRECTORY
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteConnection;

class JavaClient {
  static final List<String> TABLES = List.of("users", "seen", "ids", "kv", "ring");
  static final String ADA = "ada@example.org", BOB = "bob@example.org", ZOE = "zoë@例え.jp";
  static final String DORA = "dora@example.org", EVE = "eve@example.org";
  static final String FRED = "fred@example.org", GINA = "gina@example.org";
  static final String HANA = "hana@example.org";
  static final long LARGE = (1L << 53) + 1, LARGEST = Long.MAX_VALUE;
  static final String DOC = "SELECT doc FROM kv WHERE name = ?";
  static String path;

  interface Action {
    void run() throws SQLException;
  }

  static Connection connect() throws SQLException {
    SQLiteConfig config = new SQLiteConfig();
    config.enableLoadExtension(true);
    config.setBusyTimeout(5000);
    Connection db = config.createConnection("jdbc:sqlite:" + path);
    try (Statement statement = db.createStatement()) {
      statement.execute("SELECT load_extension('cuckoo')");
    }
    ((SQLiteConnection) db).getDatabase().enable_load_extension(false);
    return db;
  }

  static PreparedStatement bind(PreparedStatement statement, Object... values)
      throws SQLException {
    for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
    return statement;
  }

  static List<List<Object>> rows(Connection db, String sql, Object... values)
      throws SQLException {
    try (PreparedStatement statement = bind(db.prepareStatement(sql), values);
        ResultSet found = statement.executeQuery()) {
      List<List<Object>> rows = new ArrayList<>();
      int columns = found.getMetaData().getColumnCount();
      while (found.next()) {
        List<Object> row = new ArrayList<>();
        for (int i = 1; i <= columns; i++) row.add(found.getObject(i));
        rows.add(row);
      }
      return rows;
    }
  }

  static Object scalar(Connection db, String sql, Object... values) throws SQLException {
    return rows(db, sql, values).get(0).get(0);
  }

  static int update(Connection db, String sql, Object... values) throws SQLException {
    try (PreparedStatement statement = bind(db.prepareStatement(sql), values)) {
      return statement.executeUpdate();
    }
  }

  static void insertAll(Connection db, String sql, Object[]... rows) throws SQLException {
    try (PreparedStatement statement = db.prepareStatement(sql)) {
      for (Object[] row : rows) bind(statement, row).addBatch();
      statement.executeBatch();
    }
  }

  static Object[] row(Object... values) {
    return values;
  }

  static Object contains(Connection db, String email) throws SQLException {
    return scalar(db, "SELECT filter_contains('seen', ?)", email);
  }

  static void show(String step, List<Object> values) {
    StringBuilder line = new StringBuilder(step + ":");
    for (Object value : values) line.append(' ').append(value == null ? "NULL" : value);
    System.out.println(line);
  }

  static List<Object> list(Object... values) {
    return new ArrayList<>(java.util.Arrays.asList(values));
  }

  static String refused(String word, String text, Action action) {
    try {
      action.run();
      return "no error";
    } catch (SQLException error) {
      return error.getMessage().contains(text) ? word : error.getMessage();
    }
  }

  static void own(String what, boolean ok) {
    System.out.println("own: " + (ok ? "ok " : "FAILED ") + what);
  }

  static void fill(Connection db) throws SQLException {
    db.setAutoCommit(false);
    insertAll(db, "INSERT INTO users VALUES (?, ?)", row(1, ADA), row(2, BOB), row(LARGE, ZOE));
    insertAll(db, "INSERT INTO seen VALUES (?)", row(ADA), row(BOB), row(ZOE));
    insertAll(db, "INSERT INTO ids VALUES (?)", row(1), row(2), row(LARGE), row(LARGEST));
    insertAll(db, "INSERT INTO kv VALUES (?, ?)", row("greeting", "hello"),
        row("note", "Grüße 😀"), row("nothing", null),
        row("raw", new byte[] {0, (byte) 0xff, (byte) 0x80}), row("big", LARGEST));
    insertAll(db, "INSERT INTO kv(doc) VALUES (?)", row("to be"));
    insertAll(db, "INSERT INTO ring(node, weight) VALUES (?, ?)", row("cache1", 1),
        row("cache2", 1), row("größe3", 2));
    insertAll(db, "INSERT INTO requests VALUES (?)", row(EVE), row(BOB), row(ZOE));
    db.commit();
    db.setAutoCommit(true);
  }

  static void change(Connection db) throws SQLException {
    String delete = "DELETE FROM seen WHERE email = ?";
    show("delete", list(update(db, delete, BOB), update(db, delete, BOB), contains(db, BOB)));

    db.setAutoCommit(false);
    update(db, "INSERT INTO seen VALUES (?)", DORA);
    Savepoint inside = db.setSavepoint("inside");
    update(db, "INSERT INTO seen VALUES (?)", FRED);
    update(db, delete, ADA);
    update(db, "UPDATE kv SET doc = ? WHERE name = ?", "bye", "greeting");
    db.rollback(inside);
    db.releaseSavepoint(inside);
    db.commit();
    db.setAutoCommit(true);
    show("savepoint", list(contains(db, DORA), contains(db, FRED), contains(db, ADA),
        scalar(db, DOC, "greeting")));

    try (Connection second = connect()) {
      Object ofFirst = contains(second, DORA);
      update(second, "INSERT INTO seen VALUES (?)", GINA);
      show("second connection", list(ofFirst, contains(db, GINA)));
    }
  }

  static void read(Connection db) throws SQLException {
    List<Object> state = list(scalar(db, "SELECT count(*) FROM seen"),
        scalar(db, DOC, "greeting"));
    for (String table : TABLES.subList(1, 5)) {
      state.add(scalar(db, "SELECT cuckoo_check(?)", table));
    }
    show("reopen", state);

    byte[] image = (byte[]) scalar(db, "SELECT filter_export('seen')");
    update(db, "INSERT INTO copy(copy, email) VALUES ('import', ?)", image);
    Object length = scalar(db, "SELECT length(filter_export('seen'))");
    show("image", list(length.equals(image.length) ? 1 : 0,
        scalar(db, "SELECT filter_contains(?, ?)", image, ADA),
        scalar(db, "SELECT filter_contains(?, ?)", image, BOB),
        scalar(db, "SELECT count(*) FROM copy"),
        scalar(db, "SELECT filter_contains('copy', ?)", ZOE)));

    List<Object> answers = new ArrayList<>();
    for (long id : new long[] {LARGE, 1L << 53, LARGEST, Long.MIN_VALUE}) {
      answers.add(scalar(db, "SELECT filter_contains('ids', ?)", id));
    }
    answers.add(scalar(db, DOC, "big"));
    answers.add(scalar(db, "SELECT typeof(doc) FROM kv WHERE name = ?", "big"));
    show("integers", answers);
    show("text", list(scalar(db, DOC, "note"), contains(db, ZOE),
        scalar(db, "SELECT node FROM ring WHERE key = ?", "Grüße 😀")));
    show("blob", list(HexFormat.of().formatHex((byte[]) scalar(db, DOC, "raw")),
        scalar(db, "SELECT doc FROM kv WHERE name = sha1(?)", "to be")));
    show("null", list(contains(db, null), scalar(db, DOC, "nothing"),
        rows(db, "SELECT email FROM seen WHERE email = ?", (Object) null).size()));

    db.setAutoCommit(false);
    update(db, "INSERT INTO seen VALUES (?)", HANA);
    List<Object> words = list(
        refused("duplicate", "UNIQUE constraint failed: kv.name",
            () -> update(db, "INSERT INTO kv VALUES (?, ?)", "greeting", "again")),
        refused("NULL", "a filter can't hold NULL",
            () -> update(db, "INSERT INTO seen VALUES (?)", (Object) null)),
        refused("list", "does not know its keys", () -> rows(db, "SELECT * FROM seen")));
    db.commit();
    db.setAutoCommit(true);
    words.add(contains(db, HANA));
    show("refused", words);

    own("a String of digits arrives as TEXT, and finds its number in a key INTEGER",
        scalar(db, "SELECT typeof(?)", "2").equals("text")
            && scalar(db, "SELECT typeof(?)", 2L).equals("integer")
            && scalar(db, "SELECT filter_contains('ids', ?)", "2").equals(1));
    own("SQL can't load extensions in it", refused("yes", "not authorized",
        () -> scalar(db, "SELECT load_extension('cuckoo')")).equals("yes"));
    own("it waits five seconds for a lock", scalar(db, "PRAGMA busy_timeout").equals(5000));
    try (Connection pooled = DriverManager.getConnection(
        "jdbc:sqlite:" + path + "?enable_load_extension=true")) {
      scalar(pooled, "SELECT load_extension('cuckoo')");
      own("the address alone turns loading on", contains(pooled, ADA).equals(1));
    }
    own("an image as a String: an error that says so",
        refused("yes", "bind an image as a BLOB, not as TEXT", () -> update(db,
            "INSERT INTO copy(copy, email) VALUES ('import', ?)",
            new String(image, StandardCharsets.ISO_8859_1))).equals("yes"));
  }

  public static void main(String[] arguments) throws Exception {
    System.setOut(new PrintStream(System.out, true, StandardCharsets.UTF_8));
    path = arguments[0] + "/client.db";
    try (Connection db = connect()) {
      System.out.println("client: Java " + Runtime.version().feature() + ", sqlite-jdbc "
          + db.getMetaData().getDriverVersion() + ", SQLite "
          + scalar(db, "SELECT sqlite_version()"));
      try (Statement statement = db.createStatement()) {
        for (String sql : Files.readAllLines(Path.of("tests/clients/schema.sql"))) {
          statement.executeUpdate(sql);
        }
      }
      List<Object> names = new ArrayList<>();
      for (List<Object> found : rows(db,
          "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1")) {
        names.add(found.get(0));
      }
      show("tables", names);

      fill(db);
      List<Object> counts = new ArrayList<>();
      for (String table : TABLES) counts.add(scalar(db, "SELECT count(*) FROM " + table));
      show("inserts", counts);
      for (List<Object> joined : rows(db, "SELECT u.id, u.email FROM requests"
          + " JOIN seen USING (email) JOIN users u USING (email) ORDER BY u.id")) {
        show("join", joined);
      }
      List<Object> found = new ArrayList<>();
      for (List<Object> email : rows(db,
          "SELECT email FROM seen WHERE email IN (?, ?, ?) ORDER BY email", ZOE, EVE, ADA)) {
        found.add(email.get(0));
      }
      show("in", found);
      change(db);
    }
    try (Connection db = connect()) {
      read(db);
    }
  }
}
