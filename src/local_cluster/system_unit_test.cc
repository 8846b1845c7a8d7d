#include "local_cluster/system_unit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "local_cluster/state/cluster.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {
namespace {

TEST(SystemUnit, QuotesWhatSystemdWouldTakeApart) {
    struct {
        const char *name, *word, *quoted;
    } const rows[] = {
        {"plain", "--data", "--data"},
        {"a space", "/my data", "\"/my data\""},
        {"quotes", "a\"b\\c", "\"a\\\"b\\\\c\""},
        {"specifier and variable", "100%$HOME", "100%%$$HOME"},
        {"empty", "", "\"\""},
        {"a line's end and another setting", "a\nUser=b\x7f", "\"a\\x0aUser=b\\x7f\""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(quote_for_unit(row.word), row.quoted);
    }
}

TEST(SystemUnit, IsNamedForItsCluster) {
    EXPECT_EQ(SystemUnit::cluster("/var/lib/porthole", "abcdef").name(), "porthole.service");
    const SystemUnit other = SystemUnit::cluster("/srv/my cluster", "abcdef");
    EXPECT_EQ(other.name(), "porthole-abcdef.service");
    EXPECT_NE(other.text().find(" supervise --data \"/srv/my cluster\"\n"), std::string::npos);
}

// JOI-14
TEST(SystemUnit, JOI14_AnAgentGetsTheVariablesOfAFileThatRootAloneCanRead) {
    const std::string text = SystemUnit::agent({"/bin/true", "agent"}, "/srv/agent/environment").text();
    EXPECT_NE(text.find("\nEnvironmentFile=-/srv/agent/environment\nExecStart=/bin/true agent\n"), text.npos);
    char folder[] = "/tmp/porthole-units-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    const std::filesystem::path file = std::filesystem::path(folder) / "environment";
    ASSERT_TRUE(write_unit_environment(file, {{"HTTPS_PROXY", "http://jane:a\"b$c@proxy:1"}, {"NO_PROXY", "a,b"}}));
    EXPECT_EQ(read_file(file).value(), "HTTPS_PROXY=\"http://jane:a\\\"b\\$c@proxy:1\"\nNO_PROXY=\"a,b\"\n");
    EXPECT_EQ(read_unit_environment(file),
              (std::map<std::string, std::string>{{"HTTPS_PROXY", "http://jane:a\"b$c@proxy:1"}, {"NO_PROXY", "a,b"}}));
    EXPECT_TRUE(read_unit_environment(file.string() + ".missing").empty());
    EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::filesystem::remove_all(folder);
}

// systemd itself reads the units; skipped where it is not installed.
TEST(SystemUnit, SystemdUnderstandsTheUnits) {
    if (std::system("systemd-analyze --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "systemd-analyze is not installed";
    char folder[] = "/tmp/porthole-units-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    for (const SystemUnit& unit : {SystemUnit::cluster("/srv/my cluster", "abcdef"),
                                   SystemUnit::agent({"/bin/true", "agent", "--node-labels", "a=b c\nd"}, "/srv/agent/environment")}) {
        SCOPED_TRACE(unit.name());
        const std::string file = std::string(folder) + "/" + unit.name(), diagnostics = file + ".out";
        ASSERT_TRUE(write_durably(file, unit.text(), 0644));
        const int code = std::system(("systemd-analyze verify --man=no " + file + " >" + diagnostics + " 2>&1").c_str());
        std::string about_us;
        std::ifstream lines(diagnostics);
        for (std::string line; std::getline(lines, line);)
            if (line.find(unit.name()) != std::string::npos) about_us += line + "\n";
        EXPECT_EQ(about_us, "") << "exit " << code;
    }
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace porthole::local_cluster
