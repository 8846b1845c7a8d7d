#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace porthole {

/// A regular expression in RE2's syntax. Matching takes time linear in the text, because patterns and texts come from users. Both are
/// UTF-8. Copies share the compiled program. Thread-safe.
class Regex {
public:
    /// Error: BadRequest with the message of Go's package regexp (`error parsing regexp: missing closing ): ...`), also for a program of
    /// more than MostInstructions.
    static Result<Regex> compile(std::string_view pattern);
    static constexpr std::size_t MostInstructions = 131'072;

    /// Instructions of the compiled program; its memory and compile time are proportional to this.
    std::size_t size() const;
    /// Whether any part of `text` matches.
    bool search(std::string_view text) const;
    /// The leftmost match in `text`; nullopt if there is none.
    std::optional<std::string_view> find(std::string_view text) const;
    /// Calls `found` with each match, from left to right and without overlap, until it returns false.
    void find_all(std::string_view text, const std::function<bool(std::string_view part)>& found) const;

private:
    explicit Regex(std::shared_ptr<const re2::RE2> program) : program_(std::move(program)) {}

    std::shared_ptr<const re2::RE2> program_;
};

}  // namespace porthole
