"""run.sh's scenario by Django's ORM: django_client.py DIRECTORY"""
import sqlite3

import django
from django.conf import settings
from django.db import connections, models, transaction
from django.db.backends.signals import connection_created
from django.db.models import F, Func, Value

from scenario import *

settings.configure(
    DATABASES={name: {"ENGINE": "django.db.backends.sqlite3", "NAME": PATH}
               for name in ("default", "second")},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", USE_TZ=True)
django.setup()


def load(sender, connection, **_):
    connection.connection.enable_load_extension(True)
    connection.connection.load_extension(EXTENSION)
    connection.connection.enable_load_extension(False)


connection_created.connect(load)


# managed = False: a migration makes the virtual tables, by RunSQL().
class User(models.Model):
    id = models.BigIntegerField(primary_key=True)
    email = models.TextField()

    class Meta:
        app_label, db_table, managed = "client", "users", False


class Request(models.Model):
    email = models.TextField(primary_key=True)

    class Meta:
        app_label, db_table, managed = "client", "requests", False


class Seen(models.Model):
    email = models.TextField(primary_key=True)

    class Meta:
        app_label, db_table, managed = "client", "seen", False


class Id(models.Model):
    id = models.BigIntegerField(primary_key=True)

    class Meta:
        app_label, db_table, managed = "client", "ids", False


class AnyField(models.Field):
    """A value as it is, of any type."""

    def db_type(self, connection):
        return ""


class Pair(models.Model):
    name = models.TextField(primary_key=True)
    doc = AnyField(null=True)

    class Meta:
        app_label, db_table, managed = "client", "kv", False


class Node(models.Model):
    node = models.TextField(primary_key=True)
    weight = models.FloatField(default=1)

    class Meta:
        app_label, db_table, managed = "client", "ring", False


class Contains(Func):
    function = "filter_contains"
    output_field = models.IntegerField()


def scalar(sql, *values):
    with connections["default"].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()[0]


def run(sql, *values):
    with connections["default"].cursor() as cursor:
        cursor.execute(sql, values)


def contains(email, using="default"):
    return Seen.objects.using(using).filter(pk=email).exists()


def scenario():
    connection = connections["default"]
    for statement in schema().splitlines():
        run(statement)
    tables = connection.introspection.table_names()
    show("tables", *[name for name in sorted(tables)
                     if name in ("copy", "ids", "kv", "ring", "seen")])

    with transaction.atomic():
        User.objects.bulk_create([User(id=id, email=email) for id, email in USERS])
        Seen.objects.bulk_create([Seen(email=email) for _, email in USERS])
        Id.objects.bulk_create([Id(id=id) for id in IDS])
        for name, doc in PAIRS:
            Pair.objects.create(name=name, doc=doc)
        run("INSERT INTO kv(doc) VALUES (%s)", "to be")
        Node.objects.bulk_create([Node(node=node, weight=weight) for node, weight in NODES])
        Request.objects.bulk_create([Request(email=email) for email in REQUESTS])
    show("inserts", *[model.objects.count() for model in (User, Seen, Id, Pair, Node)])

    for user in User.objects.raw("SELECT u.id, u.email FROM requests JOIN seen USING (email)"
                                 " JOIN users u USING (email) ORDER BY u.id"):
        show("join", user.id, user.email)
    show("in", *Seen.objects.filter(email__in=[ZOE, EVE, ADA]).order_by("email")
         .values_list("email", flat=True))

    show("delete", Seen.objects.filter(email=BOB).delete()[0],
         Seen.objects.filter(email=BOB).delete()[0], contains(BOB))

    with transaction.atomic():
        Seen.objects.create(email=DORA)
        try:
            with transaction.atomic():  # a savepoint, which the exception rolls back
                Seen.objects.create(email=FRED)
                Seen.objects.get(email=ADA).delete()
                Pair.objects.filter(name="greeting").update(doc="bye")
                raise InterruptedError
        except InterruptedError:
            pass
    show("savepoint", contains(DORA), contains(FRED), contains(ADA),
         Pair.objects.get(name="greeting").doc)

    of_first = contains(DORA, "second")
    Seen.objects.using("second").create(email=GINA)
    show("second connection", of_first, contains(GINA))
    connections.close_all()

    show("reopen", Seen.objects.count(), Pair.objects.get(name="greeting").doc,
         *[scalar("SELECT cuckoo_check(%s)", table) for table in TABLES[1:]])

    image = scalar("SELECT filter_export('seen')")
    run("INSERT INTO copy(copy, email) VALUES ('import', %s)", image)
    show("image", len(image) == scalar("SELECT length(filter_export('seen'))"),
         scalar("SELECT filter_contains(%s, %s)", image, ADA),
         scalar("SELECT filter_contains(%s, %s)", image, BOB),
         scalar("SELECT count(*) FROM copy"), scalar("SELECT filter_contains('copy', %s)", ZOE))

    show("integers", *[Id.objects.filter(id=id).exists() for id in ASKED_IDS],
         Pair.objects.get(name="big").doc, scalar("SELECT typeof(doc) FROM kv WHERE name = 'big'"))
    show("text", Pair.objects.get(name="note").doc, contains(ZOE),
         scalar("SELECT node FROM ring WHERE key = %s", "Grüße 😀"))
    show("blob", Pair.objects.get(name="raw").doc.hex(),
         scalar("SELECT doc FROM kv WHERE name = sha1(%s)", "to be"))
    show("null", scalar("SELECT filter_contains('seen', %s)", None),
         Pair.objects.get(name="nothing").doc, Seen.objects.filter(email=None).count())

    with transaction.atomic():
        Seen.objects.create(email=HANA)

        def in_savepoint(action):
            with transaction.atomic():
                return action()

        words = [
            refused("duplicate", "UNIQUE constraint failed: kv.name", lambda: in_savepoint(
                lambda: Pair.objects.create(name="greeting", doc="again"))),
            refused("NULL", "a filter can't hold NULL", lambda: in_savepoint(
                lambda: run("INSERT INTO seen VALUES (%s)", None))),
            refused("list", "does not know its keys",
                    lambda: in_savepoint(lambda: list(Seen.objects.all()))),
        ]
    show("refused", *words, contains(HANA))


def own_checks():
    own("filter_contains() as an expression",
        list(Request.objects.filter(email__isnull=False).order_by("email").annotate(
            known=Contains(Value("seen"), F("email"))).values_list("email", "known"))
        == [(BOB, 0), (EVE, 0), (ZOE, 1)])
    own("all() and first() without a key: an error",
        fails("does not know its keys", lambda: list(Seen.objects.all()))
        and fails("does not know its keys", lambda: Seen.objects.first()))
    own("first() and get() with one answer",
        Seen.objects.filter(email=ADA).first().email == ADA
        and Seen.objects.get(email=ADA).email == ADA
        and Seen.objects.filter(email="nobody").first() is None)
    own("bulk_create(ignore_conflicts = True) is OR IGNORE", Pair.objects.bulk_create(
        [Pair(name="greeting", doc="again")], ignore_conflicts=True) is not None
        and Pair.objects.get(name="greeting").doc == "hello")
    Pair.objects.update_or_create(name="greeting", defaults={"doc": "good morning"})
    own("update_or_create() on a flash_kv", Pair.objects.get(name="greeting").doc == "good morning")
    Pair(name="greeting", doc="hello").save()
    own("save() on a flash_kv", Pair.objects.get(name="greeting").doc == "hello")

    Seen.objects.bulk_create([Seen(email=None)])
    own("a key None becomes '' on its way", contains(""))

    # save() and get_or_create() ask first, as they do for any table. A filter's "probably there" is
    # taken for a row, and the key is not added.
    run("CREATE VIRTUAL TABLE coarse USING cuckoo_filter"
        "(email TEXT, capacity = 5000, fpr = 0.25, seed = 1)")
    run("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
        " INSERT INTO coarse SELECT 'held ' || i FROM n")

    class Coarse(models.Model):
        email = models.TextField(primary_key=True)

        class Meta:
            app_label, db_table, managed = "client", "coarse", False

    def added(action):
        before = Coarse.objects.count()
        for i in range(100):
            action(f"new {before} {i}")
        return Coarse.objects.count() - before

    own("save() skips keys that look as if they were there",
        0 < added(lambda key: Coarse(email=key).save()) < 100)
    own("get_or_create() skips them too",
        0 < added(lambda key: Coarse.objects.get_or_create(email=key)) < 100)
    own("create(), bulk_create() and save(force_insert = True) skip none",
        added(lambda key: Coarse.objects.create(email=key)) == 100
        and added(lambda key: Coarse.objects.bulk_create([Coarse(email=key)])) == 100
        and added(lambda key: Coarse(email=key).save(force_insert=True)) == 100)


print("client: Django", django.get_version() + ", SQLite", sqlite3.sqlite_version)
scenario()
own_checks()
