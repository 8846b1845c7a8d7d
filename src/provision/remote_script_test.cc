#include "provision/remote_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "provision/fake_machines.h"
#include "runtime/processes/process_fixture.h"

namespace porthole::provision {
namespace {

const std::vector<std::string> OddWords = {"a b", "",  "'",    "\"", "$HOME", "`id`", "$(id)",      "; id",
                                           "\\",  "*", "a\nb", "-n", "!x",    "~",    "it's '' odd"};

struct RemoteShell : ProcessFixture {};

TEST_F(RemoteShell, GetsEveryWordAsItIs) {
    std::vector<std::string> words = {"printf", "%s\\0"};
    words.insert(words.end(), OddWords.begin(), OddWords.end());
    std::string expected;
    for (const std::string& word : OddWords) expected += word + '\0';
    for (const char* shell : {"sh", "bash"}) {
        const auto done = run({.arguments = {shell, "-c", quote_for_shell(words)}});
        ASSERT_TRUE(done);
        EXPECT_EQ(done->output, expected) << shell;
    }
    EXPECT_EQ(shell_words(quote_for_shell(words)), words) << "the tests' machines do the same";
}

TEST(RemoteScript, PowerShellLiteralsExpandNothing) {
    EXPECT_EQ(quote_for_powershell("a'b $c `d"), "'a''b $c `d'");
    const std::string command = powershell_command("'x'");
    const std::size_t blank = command.rfind(' ');
    EXPECT_EQ(command.substr(0, blank), "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -EncodedCommand");
    EXPECT_EQ(decode_base64(command.substr(blank + 1)).value(), std::string("'\0x\0'\0", 6));
}

TEST(RemoteScript, AnswersAreBoundedAndHaveNoControlCharacters) {
    const auto answers = parse_answers("a=1\r\nnoise\n=x\na=2\nb=x\x1b[31m=y\n");
    EXPECT_EQ(answers, (std::map<std::string, std::string>{{"a", "1"}, {"b", "x [31m=y"}}));
    EXPECT_EQ(parse_answers("a=x\xc2\x9b"
                            "31m \xc3\xa9")
                  .at("a"),
              "x 31m \xc3\xa9")
        << "the escape of 8 bits, and a letter";
    EXPECT_EQ(parse_answers("server=" + std::string(100'000, 'x')).at("server").size(), 1000U);
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "k" + std::to_string(i) + "=v\n";
    EXPECT_EQ(parse_answers(many).size(), 50U);
}

TEST(RemoteScript, AFailureIsToldWithTheEndOfWhatWasPrinted) {
    EXPECT_TRUE(check_output({}, "x"));
    EXPECT_EQ(check_output({.exit_code = 3}, "x").error().message, "x: it ended with 3");
    EXPECT_EQ(check_output({.exit_code = 1, .output = "out\n"}, "x").error().message, "x: out");
    EXPECT_EQ(check_output({.exit_code = 1, .output = "out", .errors = "one\ntwo\n"}, "x").error().message, "x: one two");
    EXPECT_EQ(check_output({.exit_code = 1, .errors = std::string(9000, 'e')}, "x").error().message.size(), 1003U);
}

}  // namespace
}  // namespace porthole::provision
