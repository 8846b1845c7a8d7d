#include "cmd/program/effective_flags.h"

#include <gtest/gtest.h>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace porthole::cmd {
namespace {

TEST(EffectiveFlags, AreWhatWasGivenAndElseTheDefaults) {
    std::string path, address = "0.0.0.0";
    std::vector<std::string> plugins;
    bool quiet = false, verbose = false, fair = true, cached = true;
    CLI::App app;
    app.add_option("--audit-log-path,--audit-log", path, "");
    app.add_option("--bind-address", address, "")->capture_default_str();
    app.add_option("--enable", plugins, "")->delimiter(',');
    app.add_flag("--quiet,-q", quiet, "");
    app.add_flag("--verbose", verbose, "");
    app.add_flag("--fair", fair, "")->default_str("true");
    app.add_flag("--cached", cached, "")->default_str("true");
    app.add_option_function<int>("--max-age", [](int) {}, "")->default_str("30");
    // Taken from the back.
    app.parse(std::vector<std::string>{"--cached=false", "--verbose", "B", "A,C", "--enable", "/log", "--audit-log"});
    const std::map<std::string, std::string> expected = {{"audit-log", "/log"}, {"audit-log-path", "/log"}, {"bind-address", "0.0.0.0"},
                                                         {"cached", "false"},   {"enable", "A,C,B"},        {"fair", "true"},
                                                         {"max-age", "30"},     {"quiet", "false"},         {"verbose", "true"}};
    EXPECT_EQ(effective_flags(app), expected);
}

}  // namespace
}  // namespace porthole::cmd
