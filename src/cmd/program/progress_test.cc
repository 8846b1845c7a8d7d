#include "cmd/program/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/program/output_flag.h"
#include "cmd/program/progress_flags.h"
#include "cmd/program/runtime_setup.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::cmd {
namespace {

using namespace std::chrono_literals;

// PRV-06
TEST(Progress, PRV06_ProgramsGetAnObjectALine) {
    sim::SimLoop loop;
    testing::internal::CaptureStdout();
    Progress progress(loop, ProgressStyle::Json);
    progress.begin("requesting a certificate");
    loop.advance(1240ms);
    progress.done("certificate for \"win-1\"");
    progress.warn("[page-file] none");
    progress.failed("[runtime]", "no container runtime");
    EXPECT_EQ(progress.end(Error(Reason::BadRequest, "this machine cannot join yet")), 1);
    EXPECT_EQ(progress.end({}), 0);
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              R"({"event":"begin","text":"requesting a certificate","seconds":0}
{"event":"done","text":"certificate for \"win-1\"","seconds":1.2}
{"event":"warning","text":"[page-file] none","seconds":1.2}
{"event":"failed","text":"[runtime]","seconds":1.2,"error":"no container runtime"}
{"event":"end","text":"failed","seconds":1.2,"error":"this machine cannot join yet","exitCode":1}
{"event":"end","text":"done","seconds":1.2,"exitCode":0}
)");
}

// What a server or a node says is part of many a message.
TEST(Progress, TextOfOthersSaysNothingToATerminal) {
    sim::SimLoop loop;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Progress progress(loop, ProgressStyle::Text);
    progress.note(
        "node \x1b[2J\xc2\x9b"
        "2Jä\r");
    progress.failed("step\a", "line\n\tof\x7f it");
    EXPECT_EQ(fail("no \x1b]0;x"), 1);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "  node ?[2J?2Jä?\n");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "✗ step?: line\n\tof? it\nporthole: no ?]0;x\n");
}

TEST(Progress, ProgramsGetADocumentOfYamlAStep) {
    sim::SimLoop loop;
    testing::internal::CaptureStdout();
    Progress progress(loop, ProgressStyle::Yaml);
    progress.done("certificate for \"win-1\"");
    EXPECT_EQ(progress.end(Error(Reason::BadRequest, "this: cannot")), 1);
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "---\nevent: done\ntext: certificate for \"win-1\"\nseconds: 0\n"
              "---\nevent: end\ntext: failed\nseconds: 0\nerror: \"this: cannot\"\nexitCode: 1\n");
}

// CLI-10
TEST(OutputFlag, PrintsTextOrADocument) {
    OutputFlag output;
    const auto parse = [&](std::vector<std::string> words) {
        CLI::App app("x", "x");
        output.add_flags(app);
        return parse_flags(app, std::move(words));
    };
    EXPECT_FALSE(parse({}));
    EXPECT_TRUE(output.is_text());
    const schema::Value found = schema::Value::object({{"nodes", schema::Value::array({"a", "b"})}, {"pods", schema::Value::array()}});
    EXPECT_FALSE(parse({"-o", "json"}));
    EXPECT_EQ(output.document(found), "{\n    \"nodes\": [\n        \"a\",\n        \"b\"\n    ],\n    \"pods\": []\n}\n");
    EXPECT_FALSE(parse({"--output=yaml"}));
    EXPECT_EQ(output.document(found), "nodes:\n- a\n- b\npods: []\n");
    testing::internal::CaptureStderr();
    EXPECT_EQ(parse({"-o", "xml"}), 2);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::EndsWith("x: --output: xml not in {text,json,yaml}; see `porthole x --help`\n"));
}

TEST(Progress, TheFlagsOfProvisioningSystems) {
    ProgressFlags flags;
    CLI::App app("x", "x");
    flags.add_flags(app);
    EXPECT_EQ(flags.style(), ProgressStyle::Text);
    EXPECT_FALSE(parse_flags(app, {"-o", "json", "--non-interactive"}));
    EXPECT_EQ(flags.style(), ProgressStyle::Json);
    EXPECT_FALSE(parse_flags(app, {"-o", "yaml"}));
    EXPECT_EQ(flags.style(), ProgressStyle::Yaml);
}

TEST(Flags, ADirectoryIsNeverEmpty) {
    for (const bool below : {false, true}) {
        CLI::App app("", "backup");
        std::string data = "/default";
        (below ? *app.add_subcommand("list") : app).add_option("--data", data);
        EXPECT_EQ(parse_flags(app, below ? std::vector<std::string>{"list", "--data", ""} : std::vector<std::string>{"--data="}), 2);
    }
}

}  // namespace
}  // namespace porthole::cmd
