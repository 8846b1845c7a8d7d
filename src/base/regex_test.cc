#include "base/regex.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

TEST(Regex, SearchesAsRe2Does) {
    struct {
        const char* pattern;
        const char* text;
        bool matches;
    } const rows[] = {
        {"", "", true},
        {"a", "bab", true},
        {"^a", "ba", false},
        {"a$", "ab", false},
        {"^$", "", true},
        {"^$", "x", false},
        {"a|b|cd", "xcd", true},
        {"^(a|b)*c$", "ababc", true},
        {"^(a|b)*c$", "abxc", false},
        {"^a{2,3}$", "aa", true},
        {"^a{2,3}$", "aaaa", false},
        {"^a{3}$", "aaa", true},
        {"^a{2,}$", "aaaaa", true},
        {"^a{0}b$", "b", true},
        {"^(ab?c)+$", "acabc", true},
        {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-name", true},
        {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-", false},
        {"^\\d+\\.\\w+$", "12.a_b", true},
        {"^[^a-c]+$", "xyz", true},
        {"^[^a-c]+$", "xbz", false},
        {"^.$", "\xC3\xA4", true},
        {"^[\xC3\xA4-\xC3\xB6]$", "\xC3\xA5", true},
        {"^.$", "\n", false},
        {"(?s)^.$", "\n", true},
        {"(?i)^HeLLo$", "hEllO", true},
        {"^(?i:a)b$", "Ab", true},
        {"^(?i:a)b$", "AB", false},
        {"\\bfoo\\b", "a foo b", true},
        {"\\bfoo\\b", "afoo", false},
        {"^a.*?b$", "axxb", true},
        {"^[]a]+$", "]a", true},
        {"^[a\\-z]+$", "-", true},
        {"^[[:alpha:]]+$", "aB", true},
        {"^\\x41\\x{42}$", "AB", true},
        {"a{,2}", "a{,2}", true},
        {"(?m)^b$", "a\nb\nc", true},
        {"^(?P<name>a)$", "a", true},
        {"^(a|ab)(c|bcd)$", "abcd", true},
        {"^\\S+\\s\\S+$", "a b", true},
        {"^(|a)+$", "aaa", true},
    };
    for (const auto& row : rows) {
        const auto regex = Regex::compile(row.pattern);
        ASSERT_TRUE(regex) << row.pattern << ": " << regex.error().message;
        EXPECT_EQ(regex->search(row.text), row.matches) << row.pattern << " in " << row.text;
    }
}

TEST(Regex, RefusesWhatIsNone) {
    for (const char* pattern :
         {"(", ")", "[a", "a**b[", "*", "\\", "[z-a]", "a{2000}", "(?<n", "\\q", "(?z)", "((a{500}){500}){500}", "\\x{110000}"})
        EXPECT_FALSE(Regex::compile(pattern)) << pattern;
    EXPECT_EQ(Regex::compile("a(b").error().message, "error parsing regexp: missing closing ): `a(b`");
}

TEST(Regex, FindsTheFirstMatchAndAllOfThem) {
    const auto parts_of = [](const char* pattern, std::string_view text, std::size_t most = 100) {
        std::vector<std::string> parts;
        Regex::compile(pattern)->find_all(text, [&](std::string_view part) { return parts.emplace_back(part), --most > 0; });
        return parts;
    };
    EXPECT_EQ(Regex::compile("[0-9]+")->find("a12b3"), "12");
    EXPECT_EQ(Regex::compile("x")->find("abc"), std::nullopt);
    EXPECT_EQ(parts_of("[0-9]+", "a12b3"), (std::vector<std::string>{"12", "3"}));
    EXPECT_EQ(parts_of("[0-9]", "1234", 2), (std::vector<std::string>{"1", "2"}));
    EXPECT_EQ(parts_of("x*", "axb"), (std::vector<std::string>{"", "x", ""}));  // as Go: none directly behind another
    EXPECT_EQ(parts_of("", "é"), (std::vector<std::string>{"", ""}));           // between code points only
}

TEST(Regex, TakesTimeLinearInTheText) {
    const auto regex = Regex::compile("^(a+)+$");
    ASSERT_TRUE(regex);
    EXPECT_FALSE(regex->search(std::string(20'000, 'a') + "b"));
    EXPECT_TRUE(regex->search(std::string(20'000, 'a')));
}

}  // namespace
}  // namespace porthole
