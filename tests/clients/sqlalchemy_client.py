"""run.sh's scenario by SQLAlchemy's ORM: sqlalchemy_client.py DIRECTORY"""
import sqlite3
from types import SimpleNamespace

import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import BigInteger, Column, LargeBinary, String, event, func, select, text
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.orm import Session, declarative_base
from sqlalchemy.types import NullType

import web
from scenario import *

Base = declarative_base()


# The classes name the columns that are asked for. Their tables are made by schema.sql: create_all()
# would make ordinary ones.
class User(Base):
    __tablename__ = "users"
    id = Column(BigInteger, primary_key=True)
    email = Column(String)


class Request(Base):
    __tablename__ = "requests"
    email = Column(String, primary_key=True)


class Seen(Base):
    __tablename__ = "seen"
    email = Column(String, primary_key=True)


class Id(Base):
    __tablename__ = "ids"
    id = Column(BigInteger, primary_key=True)


class Pair(Base):
    __tablename__ = "kv"
    name = Column(String, primary_key=True)
    doc = Column(NullType)  # as it is: a value keeps its type


class Node(Base):
    __tablename__ = "ring"
    node = Column(String, primary_key=True)
    weight = Column(BigInteger)


def create_engine(path=PATH):
    engine = sqlalchemy.create_engine(f"sqlite:///{path}", future=True)

    @event.listens_for(engine, "connect")
    def load(connection, _):
        connection.isolation_level = None  # SQLAlchemy says BEGIN, not Python: savepoints need it
        connection.enable_load_extension(True)
        connection.load_extension(EXTENSION)
        connection.enable_load_extension(False)

    @event.listens_for(engine, "begin")
    def begin(connection):
        connection.exec_driver_sql("BEGIN")

    return engine


def contains(session, email):
    return session.scalar(select(func.filter_contains("seen", email)))


def doc(session, name):
    return session.scalar(select(Pair.doc).where(Pair.name == name))


def scenario():
    engine = create_engine()
    with engine.begin() as connection:
        for statement in schema().splitlines():
            connection.execute(text(statement))
    tables = sqlalchemy.inspect(engine).get_table_names()
    show("tables", *[name for name in tables if name in ("copy", "ids", "kv", "ring", "seen")])

    with Session(engine) as session, session.begin():
        session.add_all([User(id=id, email=email) for id, email in USERS])
        session.add_all([Seen(email=email) for _, email in USERS])
        session.add_all([Id(id=id) for id in IDS])
        session.add_all([Pair(name=name, doc=value) for name, value in PAIRS])
        session.execute(text("INSERT INTO kv(doc) VALUES (:doc)"), {"doc": "to be"})
        session.add_all([Node(node=node, weight=weight) for node, weight in NODES])
        session.add_all([Request(email=email) for email in REQUESTS])
    with Session(engine) as session:
        show("inserts", *[session.scalar(select(func.count()).select_from(text(table)))
                          for table in TABLES])
        joined = (select(User.id, User.email).select_from(Request)
                  .join(Seen, Seen.email == Request.email).join(User, User.email == Seen.email)
                  .order_by(User.id))
        for row in session.execute(joined):
            show("join", *row)
        show("in", *session.scalars(select(Seen.email).where(Seen.email.in_([ZOE, EVE, ADA]))
                                    .order_by(Seen.email)))

    with Session(engine) as session, session.begin():
        delete = sqlalchemy.delete(Seen).where(Seen.email == BOB)
        show("delete", session.execute(delete).rowcount, session.execute(delete).rowcount,
             contains(session, BOB))

    with Session(engine) as session, session.begin():
        session.add(Seen(email=DORA))
        with session.begin_nested() as inner:
            session.add(Seen(email=FRED))
            session.delete(session.get(Seen, ADA))
            session.get(Pair, "greeting").doc = "bye"
            session.flush()
            inner.rollback()
    with Session(engine) as session:
        show("savepoint", *[contains(session, email) for email in (DORA, FRED, ADA)],
             doc(session, "greeting"))

    second = create_engine()
    with Session(second) as session, session.begin():
        of_first = contains(session, DORA)
        session.add(Seen(email=GINA))
    with Session(engine) as session:
        show("second connection", of_first, contains(session, GINA))
    second.dispose()
    engine.dispose()

    engine = create_engine()
    with Session(engine) as session:
        show("reopen", session.scalar(select(func.count()).select_from(Seen)),
             doc(session, "greeting"),
             *[session.scalar(select(func.cuckoo_check(table))) for table in TABLES[1:]])

    with Session(engine) as session, session.begin():
        image = session.scalar(select(func.filter_export("seen", type_=LargeBinary)))
        session.execute(text("INSERT INTO copy(copy, email) VALUES ('import', :image)"),
                        {"image": image})
        show("image", len(image) == session.scalar(select(func.length(func.filter_export("seen")))),
             session.scalar(select(func.filter_contains(image, ADA))),
             session.scalar(select(func.filter_contains(image, BOB))),
             session.scalar(text("SELECT count(*) FROM copy")),
             session.scalar(select(func.filter_contains("copy", ZOE))))

    with Session(engine) as session:
        show("integers", *[session.scalar(select(func.filter_contains("ids", id)))
                           for id in ASKED_IDS], doc(session, "big"),
             session.scalar(select(func.typeof(Pair.doc)).where(Pair.name == "big")))
        show("text", doc(session, "note"), contains(session, ZOE),
             session.scalar(text("SELECT node FROM ring WHERE key = :key"), {"key": "Grüße 😀"}))
        show("blob", doc(session, "raw").hex(),
             session.scalar(select(Pair.doc).where(Pair.name == func.sha1("to be"))))
        show("null", contains(session, None), doc(session, "nothing"),
             len(session.execute(text("SELECT email FROM seen WHERE email = :email"),
                                 {"email": None}).all()))

    with Session(engine) as session, session.begin():
        session.add(Seen(email=HANA))

        def in_savepoint(statement):
            with session.begin_nested():
                return session.execute(statement).all()

        words = [
            refused("duplicate", "UNIQUE constraint failed: kv.name", lambda: in_savepoint(
                sqlalchemy.insert(Pair).values(name="greeting", doc="again"))),
            refused("NULL", "a filter can't hold NULL",
                    lambda: in_savepoint(sqlalchemy.insert(Seen).values(email=None))),
            refused("list", "does not know its keys", lambda: in_savepoint(select(Seen))),
        ]
    with Session(engine) as session:
        show("refused", *words, contains(session, HANA))
    return engine


def own_checks(engine):
    with Session(engine) as session:
        own("query().all() and .first() without a key: an error",
            fails("does not know its keys", lambda: session.query(Seen).all())
            and fails("does not know its keys", lambda: session.query(Seen).first()))
        by_key = session.query(Seen).filter(Seen.email == ADA)
        own("with one they answer", by_key.first().email == ADA and len(by_key.all()) == 1
            and session.query(Seen).filter(Seen.email == "nobody").first() is None)
        own("on_conflict_do_nothing() and on_conflict_do_update(): an error",
            fails("UPSERT not implemented", lambda: session.execute(
                upsert(Pair).values(name="a", doc=1).on_conflict_do_nothing()))
            and fails("UPSERT not implemented", lambda: session.execute(
                upsert(Pair).values(name="a", doc=1)
                .on_conflict_do_update(index_elements=["name"], set_={"doc": 1}))))
        session.rollback()
        ignored = session.execute(sqlalchemy.insert(Pair).prefix_with("OR IGNORE")
                                  .values(name="greeting", doc="again")).rowcount
        replaced = session.execute(sqlalchemy.insert(Pair).prefix_with("OR REPLACE")
                                   .values(name="greeting", doc="hello")).rowcount
        own("prefix_with('OR IGNORE') and 'OR REPLACE' instead", (ignored, replaced) == (0, 1))
        session.rollback()

    made = sqlalchemy.create_engine("sqlite://", future=True)
    Base.metadata.create_all(made, tables=[Seen.__table__])
    with made.connect() as connection:
        own("create_all() makes ordinary tables", connection.scalar(
            text("SELECT sql FROM sqlite_schema")).strip().startswith("CREATE TABLE seen"))

    alembic_checks()

    # merge() asks first, as an ORM does for any table. A filter's "probably there" is taken for a
    # row, and the key is not added.
    with Session(engine) as session, session.begin():
        session.execute(text("CREATE VIRTUAL TABLE coarse USING cuckoo_filter"
                             "(email TEXT, capacity = 5000, fpr = 0.25, seed = 1)"))
        session.execute(text("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n"
                             " WHERE i < 5000) INSERT INTO coarse SELECT 'held ' || i FROM n"))

    class Coarse(Base):
        __tablename__ = "coarse"
        email = Column(String, primary_key=True)

    keys = [f"new {i}" for i in range(100)]
    with Session(engine) as session, session.begin():
        for key in keys:
            session.merge(Coarse(email=key))
    with Session(engine) as session:
        merged = session.scalar(select(func.count()).select_from(Coarse)) - 5000
    with Session(engine) as session, session.begin():
        session.add_all([Coarse(email=key) for key in keys])
    with Session(engine) as session, session.begin():
        session.execute(sqlalchemy.insert(Coarse), [{"email": key} for key in keys])
    with Session(engine) as session:
        inserted = session.scalar(select(func.count()).select_from(Coarse)) - 5000 - merged
    own("merge() skips keys that look as if they were there", 0 < merged < 100)
    own("add() and insert() skip none", inserted == 200)


def alembic_checks():
    engine = create_engine(":memory:")
    tables = sqlalchemy.MetaData()
    sqlalchemy.Table("users", tables, Column("id", BigInteger, primary_key=True),
                     Column("email", String))
    tables.create_all(engine)
    with engine.begin() as connection:
        for sql in ("INSERT INTO users VALUES (1, 'ada')",
                    "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email),"
                    " triggers = on)", "CREATE VIRTUAL TABLE kv USING flash_kv(name TEXT, doc)"):
            connection.exec_driver_sql(sql)

        def proposed(**options):
            context = MigrationContext.configure(connection, opts=options)
            return {(change[0], change[1].name) for change in compare_metadata(context, tables)}

        own("Alembic's autogenerate would drop filters and stores",
            {("remove_table", "seen"), ("remove_table", "kv_pages")} <= proposed())
        configured = {}
        exec(web.block("python", "virtual = {", "clients.md"), {  # the part of env.py
            "connection": connection, "target_metadata": tables,
            "context": SimpleNamespace(configure=configured.update)})
        own("but not with an include_object() that leaves them out",
            proposed(include_object=configured["include_object"]) == set())
        context = MigrationContext.configure(connection)
        with Operations(context).batch_alter_table("users", recreate="always") as batch:
            batch.add_column(Column("name", String))
        connection.exec_driver_sql("INSERT INTO users VALUES (2, 'bob', 'Bob')")
        own("its batch mode drops a source's triggers: the filter refuses until 'rebuild'",
            fails("rebuild", lambda: connection.exec_driver_sql(
                "SELECT filter_contains('seen', 'bob')")))
        connection.exec_driver_sql("INSERT INTO seen(seen) VALUES ('rebuild')")
        connection.exec_driver_sql("INSERT INTO users VALUES (3, 'cleo', 'Cleo')")
        own("and follows the new table then", connection.exec_driver_sql(
            "SELECT filter_contains('seen', 'bob') + filter_contains('seen', 'cleo')").scalar()
            == 2)


print("client: SQLAlchemy", sqlalchemy.__version__ + ", SQLite", sqlite3.sqlite_version)
own_checks(scenario())
orm = web.programs("orm")


def add(events):
    try:
        return orm.add_events(events)
    except sqlalchemy.exc.IntegrityError:
        return None


web.web_checks(orm.user_id, add)
with orm.engine.connect() as connection:
    web.connection_checks(connection.connection.cursor())
