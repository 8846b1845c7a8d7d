#include "cmd/program/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/program/progress_flags.h"
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

TEST(Progress, TheFlagsOfProvisioningSystems) {
    ProgressFlags flags;
    CLI::App app("x", "x");
    flags.add_flags(app);
    EXPECT_EQ(flags.style(), ProgressStyle::Text);
    EXPECT_FALSE(parse_flags(app, {"-o", "json", "--non-interactive"}));
    EXPECT_EQ(flags.style(), ProgressStyle::Json);
}

}  // namespace
}  // namespace porthole::cmd
