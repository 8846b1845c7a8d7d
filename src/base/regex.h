#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole {

/// A regular expression in RE2's syntax, matched in time linear in the text: patterns and texts come from users.
///
/// Known: literals, `.`, classes with ranges and [:names:], \d \w \s \b and their opposites, groups, `|`, `* + ? {m,n}` (lazy ones too),
/// `^ $ \A \z`, the flags i, s, m at the start or of a group. Not known: \p{…} and \C. Texts are UTF-8; a broken byte is U+FFFD.
class Regex {
public:
    /// Error: BadRequest, `error parsing regexp: missing closing ): ...`.
    static Result<Regex> compile(std::string_view pattern);

    /// Whether some part of `text` matches.
    bool search(std::string_view text) const;

private:
    friend class RegexCompiler;
    friend class RegexMatcher;
    enum class Operation : std::uint8_t { Class, Split, Jump, Start, End, LineStart, LineEnd, Word, NoWord, Match };
    struct Range {
        char32_t first, last;
    };
    struct Instruction {
        Operation operation;
        std::uint32_t next = 0, other = 0;  // Split has two; Class: `other` is the index of its ranges
    };

    std::vector<Instruction> program_;
    std::vector<std::vector<Range>> classes_;  // sorted
};

}  // namespace porthole
