#include "base/regex.h"

#include <fmt/format.h>
#include <re2/re2.h>

namespace porthole {
namespace {

/// What Go says of a mistake that RE2 has found.
std::string_view go_words(RE2::ErrorCode code) {
    switch (code) {
        case RE2::ErrorBadEscape: return "invalid escape sequence";
        case RE2::ErrorBadCharClass: return "invalid character class";
        case RE2::ErrorBadCharRange: return "invalid character class range";
        case RE2::ErrorMissingBracket: return "missing closing ]";
        case RE2::ErrorMissingParen: return "missing closing )";
        case RE2::ErrorUnexpectedParen: return "unexpected )";
        case RE2::ErrorTrailingBackslash: return "trailing backslash at end of expression";
        case RE2::ErrorRepeatArgument: return "missing argument to repetition operator";
        case RE2::ErrorRepeatSize: return "invalid repeat count";
        case RE2::ErrorRepeatOp: return "invalid nested repetition operator";
        case RE2::ErrorBadPerlOp: return "invalid or unsupported Perl syntax";
        case RE2::ErrorBadUTF8: return "invalid UTF-8";
        case RE2::ErrorBadNamedCapture: return "invalid named capture";
        case RE2::ErrorPatternTooLarge: return "expression too large";
        case RE2::NoError:
        case RE2::ErrorInternal: break;
    }
    return "regexp/syntax: internal error";
}

}  // namespace

Result<Regex> Regex::compile(std::string_view pattern) {
    auto program = std::make_shared<const RE2>(re2::StringPiece(pattern.data(), pattern.size()), RE2::Quiet);
    if (!program->ok()) {
        return Error(Reason::BadRequest,
                     fmt::format("error parsing regexp: {}: `{}`", go_words(program->error_code()), program->error_arg()));
    }
    return Regex(std::move(program));
}

bool Regex::search(std::string_view text) const { return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *program_); }

}  // namespace porthole
