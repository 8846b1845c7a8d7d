#include "base/regex.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

namespace porthole {
namespace {

/// What Go says of a mistake that RE2 has found.
constexpr std::pair<RE2::ErrorCode, std::string_view> GoWords[] = {
    {RE2::ErrorBadEscape, "invalid escape sequence"},
    {RE2::ErrorBadCharClass, "invalid character class"},
    {RE2::ErrorBadCharRange, "invalid character class range"},
    {RE2::ErrorMissingBracket, "missing closing ]"},
    {RE2::ErrorMissingParen, "missing closing )"},
    {RE2::ErrorUnexpectedParen, "unexpected )"},
    {RE2::ErrorTrailingBackslash, "trailing backslash at end of expression"},
    {RE2::ErrorRepeatArgument, "missing argument to repetition operator"},
    {RE2::ErrorRepeatSize, "invalid repeat count"},
    {RE2::ErrorRepeatOp, "invalid nested repetition operator"},
    {RE2::ErrorBadPerlOp, "invalid or unsupported Perl syntax"},
    {RE2::ErrorBadUTF8, "invalid UTF-8"},
    {RE2::ErrorBadNamedCapture, "invalid named capture"},
    {RE2::ErrorPatternTooLarge, "expression too large"},
};

std::string_view go_words(RE2::ErrorCode code) {
    const auto found = std::ranges::find(GoWords, code, &std::pair<RE2::ErrorCode, std::string_view>::first);
    return found == std::end(GoWords) ? "regexp/syntax: internal error" : found->second;
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

std::size_t Regex::size() const { return static_cast<std::size_t>(program_->ProgramSize()); }

bool Regex::search(std::string_view text) const { return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *program_); }

namespace {

/// The first match at or after `from`.
bool match_at(const RE2& program, std::string_view text, std::size_t from, re2::StringPiece& part) {
    return program.Match(re2::StringPiece(text.data(), text.size()), from, text.size(), RE2::UNANCHORED, &part, 1);
}

}  // namespace

std::optional<std::string_view> Regex::find(std::string_view text) const {
    re2::StringPiece part;
    if (!match_at(*program_, text, 0, part)) return {};
    return std::string_view(part.data(), part.size());
}

void Regex::find_all(std::string_view text, const std::function<bool(std::string_view part)>& found) const {
    std::size_t from = 0, last_end = std::string_view::npos;
    re2::StringPiece part;
    while (from <= text.size() && match_at(*program_, text, from, part)) {
        const std::size_t begin = static_cast<std::size_t>(part.data() - text.data()), end = begin + part.size();
        // As Go does: an empty match directly behind the one before does not count.
        if (!(part.empty() && begin == last_end) && !found(std::string_view(part.data(), part.size()))) return;
        last_end = end;
        if (!part.empty()) {
            from = end;
            continue;
        }
        from = end + 1;
        while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
    }
}

}  // namespace porthole
