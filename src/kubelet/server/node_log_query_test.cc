#include "kubelet/server/node_log_query.h"

#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

struct NodeLogQueryTest : testing::Test {
    NodeLogQueryTest() {
        write("/k/logs/kubelet.log",
              "before all times\n"
              "2026-01-01T10:00:00.000Z I started\n"
              "2026-01-01T10:00:05.500Z E pod failed\n"
              "  because of its image\n"
              "2026-01-01T10:00:09.000Z I pod runs\n");
        write("/k/logs/config", "a kubeconfig\n");
        write("/k/logs/pki/client.pem", "a key\n");
        write("/var/log/kubelet.log", "another\n");
        write("/var/log/docker/docker.log", "docker\n");
        write("/var/log/syslog", "one\ntwo");
        write("/etc/shadow", "secret\n");
    }
    void write(const std::string& path, const std::string& text) {
        EXPECT_TRUE(files.create_directories(parent_path(path), 0755));
        EXPECT_TRUE(files.write(path, text, 0644));
    }
    std::string ask(const Query& query) {
        const auto asked = NodeLogQuery::parse(query);
        if (!asked) return "refused: " + asked.error().message;
        if (!*asked) return "a list";
        const auto shown = (*asked)->run(files, {.own = {"/absent", "/k/logs"}, .root = "/var/log"});
        return shown ? *shown : "failed: " + shown.error().message;
    }
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
};

TEST_F(NodeLogQueryTest, FindsTheFileOfAServiceWhereItUsuallyIs) {
    EXPECT_EQ(ask({{"query", "docker"}}), "docker\n");
    EXPECT_EQ(ask({{"query", "syslog"}, {"query", "docker"}}), "one\ntwo\ndocker\n");
    EXPECT_EQ(ask({{"query", "docker/docker.log"}}), "docker\n");
    EXPECT_EQ(ask({{"query", "kubelet"}, {"tailLines", "1"}}), "2026-01-01T10:00:09.000Z I pod runs\n") << "the first folder wins";
    EXPECT_EQ(ask({{"tailLines", "5"}}), "a list");
}

TEST_F(NodeLogQueryTest, ShowsNoFileWithoutEnd) {
    EXPECT_EQ(ask(Query(8, {"query", "docker"})).size(), 8 * std::string("docker\n").size());
    EXPECT_EQ(ask(Query(9, {"query", "docker"})), "refused: query may be given 8 times at most");
}

TEST_F(NodeLogQueryTest, ChoosesLinesByTimePatternAndNumber) {
    const struct {
        Query options;
        const char* shown;
    } rows[] = {
        {{{"sinceTime", "2026-01-01T10:00:05Z"}},
         "2026-01-01T10:00:05.500Z E pod failed\n  because of its image\n2026-01-01T10:00:09.000Z I pod runs\n"},
        {{{"sinceTime", "2026-01-01T10:00:05.5Z"}, {"untilTime", "2026-01-01T10:00:08Z"}},
         "2026-01-01T10:00:05.500Z E pod failed\n  because of its image\n"},
        {{{"untilTime", "2026-01-01T10:00:00Z"}}, "before all times\n2026-01-01T10:00:00.000Z I started\n"},
        {{{"pattern", "pod (failed|runs)"}, {"tailLines", "1"}}, "2026-01-01T10:00:09.000Z I pod runs\n"},
        {{{"tailLines", "0"}}, ""},
        {{{"pattern", "nothing"}}, ""},
    };
    for (auto row : rows) {
        SCOPED_TRACE(row.options[0].second);
        row.options.emplace_back("query", "kubelet");
        EXPECT_EQ(ask(row.options), row.shown);
    }
}

TEST_F(NodeLogQueryTest, RefusesWhatItCannotDoOrMustNotShow) {
    ASSERT_TRUE(files.create_symlink("/etc/shadow", "/var/log/link.log"));
    const struct {
        Query query;
        const char* answer;
    } rows[] = {
        {{{"query", "absent"}}, "failed: this node has no log file of \"absent\""},
        {{{"query", "../../etc/shadow"}}, "failed: invalid path"},
        {{{"query", "..\\secret"}}, "failed: invalid path"},
        {{{"query", "/etc/shadow"}}, "failed: invalid path"},
        {{{"query", "config"}}, "failed: this node has no log file of \"config\""},
        {{{"query", "pki/client.pem"}}, "failed: this node has no log file of \"pki/client.pem\""},
        {{{"query", "link"}}, "failed: the file is outside of the log directory"},
        {{{"query", "kubelet"}, {"tailLines", "-1"}}, "refused: tailLines must be a number from 0 to 100000, not -1"},
        {{{"query", "kubelet"}, {"sinceTime", "today"}}, "refused: sinceTime is not a valid RFC 3339 time: today"},
        {{{"query", "kubelet"}, {"boot", "0"}}, "refused: boot is not supported: the logs of this node are files"},
        {{{"query", "kubelet"}, {"sinceTime", "2026-01-02T00:00:00Z"}, {"untilTime", "2026-01-01T00:00:00Z"}},
         "refused: sinceTime must not be after untilTime"},
    };
    for (const auto& row : rows) EXPECT_EQ(ask(row.query), row.answer);
    EXPECT_TRUE(ask({{"query", "kubelet"}, {"pattern", "("}}).starts_with("refused: error parsing regexp"));
}

}  // namespace
}  // namespace porthole::kubelet
