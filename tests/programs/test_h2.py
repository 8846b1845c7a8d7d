"""H2, a database in Java, with the server that speaks PostgreSQL's protocol: tables that outlive a restart."""

import program_case
import test_java as java
from sources import Jar

TALK = """
import pg8000.native as pg
def connect(password="correct-horse"):
    return pg.Connection("sa", host=HOST, port=5435, database="C:/data/kept", password=password, timeout=30)
server = connect()
if "-service" not in HOST:
    if PHASE == "use":
        server.run("create table kept (number int primary key, text varchar(100))")
        server.run("insert into kept select x, 'text' || x from system_range(1, 1000)")
    assert [int(value) for value in server.run("select count(*), sum(number) from kept")[0]] == [1000, 500500]
"""


class H2(program_case.ProgramCase):
    program = "H2 2.4.240, with Java 17"
    sources = (java.Java17.sources[0], Jar("com.h2database:h2", "2.4.240", "29b70e427cc1c40cdc376283adbb0cc62853073797bb5fe5761f81fe73d57ce0", "h2/h2.jar"))
    command = ("cmd", "/c", "C:\\java\\bin\\java.exe -Xmx128m -cp C:\\h2\\h2.jar org.h2.tools.RunScript -url jdbc:h2:C:/data/kept -user sa "
               "-password %PASSWORD% -script C:\\config\\first.sql && "
               "C:\\java\\bin\\java.exe -Xmx128m -cp C:\\h2\\h2.jar org.h2.tools.Server -pg -pgAllowOthers -pgPort 5435")
    port = 5435
    config = {"first.sql": "create table if not exists settings (text varchar(100));\n"}
    secret = {"password": "correct-horse"}
    environment = {"PASSWORD": "secret:password"}
    memory = "512Mi"
    check = ("C:\\java\\bin\\java.exe", "-cp", "C:\\h2\\h2.jar", "org.h2.tools.Shell", "-?")
    check_prints = "Interactive command line tool"
    says = "PG server running at"
    talk = TALK
