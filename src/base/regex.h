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

/// A regular expression in RE2's syntax, matched in time linear in the text: patterns and texts come from users. Both are UTF-8.
/// Copies share the compiled program. Thread-safe.
class Regex {
public:
    /// A program of more than MostInstructions is too large. Error: BadRequest, in the words of Go's package regexp: `error parsing regexp:
    /// missing closing ): ...`.
    static Result<Regex> compile(std::string_view pattern);
    static constexpr std::size_t MostInstructions = 131'072;

    /// Instructions of the program: memory and time of compiling it are in proportion.
    std::size_t size() const;
    /// Whether some part of `text` matches.
    bool search(std::string_view text) const;
    /// The leftmost part of `text` that matches; nullopt where none does.
    std::optional<std::string_view> find(std::string_view text) const;
    /// Calls `found` with each part that matches, from left to right and without overlap, as long as it yields true.
    void find_all(std::string_view text, const std::function<bool(std::string_view part)>& found) const;

private:
    explicit Regex(std::shared_ptr<const re2::RE2> program) : program_(std::move(program)) {}

    std::shared_ptr<const re2::RE2> program_;
};

}  // namespace porthole
