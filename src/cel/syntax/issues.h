#pragma once
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::cel {

/// Where in the source: the line from 1, the column from 0 in code points; line 0 for nowhere.
struct Location {
    std::size_t line = 0, column = 0;
    auto operator<=>(const Location&) const = default;
};

/// A mistake in an expression.
struct Issue {
    Location location;
    std::string message;
};

/// The mistakes that a compilation found, at most 100, with the source for showing them.
class Issues {
public:
    Issues() = default;
    explicit Issues(std::string_view source) : source_(source) {}

    void add(Location location, std::string message);
    bool empty() const { return issues_.empty(); }
    std::size_t count() const { return count_; }
    const std::vector<Issue>& list() const { return issues_; }
    /// In order of position, each as upstream prints it:
    ///
    ///     ERROR: <input>:1:5: undeclared reference to 'x' (in container '')
    ///      | 1 + x
    ///      | ....^
    std::string to_string() const;

private:
    std::string source_;
    std::vector<Issue> issues_;
    std::size_t count_ = 0;
};

/// A T, or why the expression does not compile.
template <class T>
using CompileResult = std::expected<T, Issues>;

}  // namespace porthole::cel
