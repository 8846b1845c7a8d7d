#include "cmd/program/join_token.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "cmd/program/flags.h"

namespace porthole::cmd {
namespace {

Result<std::string> token_of(std::vector<std::string> arguments) {
    JoinToken token;
    CLI::App app("", "join");
    token.add_flags(app);
    if (parse_flags(app, std::move(arguments))) return Error(Reason::BadRequest, "not parsed");
    return token.read();
}

TEST(JoinToken, IsReadFromAFile) {
    const std::string file = testing::TempDir() + "join-token";
    std::ofstream(file) << "abcdef.0123456789abcdef\n";
    EXPECT_EQ(token_of({"--token-file", file}).value(), "abcdef.0123456789abcdef");
    EXPECT_EQ(token_of({"--token", "abcdef.0123456789abcdef"}).value(), "abcdef.0123456789abcdef");
    std::remove(file.c_str());
    EXPECT_EQ(token_of({"--token-file", file}).error().message, "no token in " + file);
    EXPECT_EQ(token_of({}).error().message, "a token is needed: --token-file FILE, or - for standard input");
    EXPECT_FALSE(token_of({"--token-file", file, "--token", "abcdef.0123456789abcdef"}));
}

TEST(JoinToken, IsOverwrittenInTheArgumentsOfTheProgram) {
    char words[][24] = {"porthole", "join", "--token", "abcdef.secret", "--token=abcdef.secret", "--token-file", "name"};
    std::vector<char*> pointers;
    for (char* word : words) pointers.push_back(word);
    hide_token(pointers);
    EXPECT_STREQ(words[3], "xxxxxxxxxxxxx");
    EXPECT_STREQ(words[4], "--token=xxxxxxxxxxxxx");
    EXPECT_STREQ(words[6], "name");
}

}  // namespace
}  // namespace porthole::cmd
