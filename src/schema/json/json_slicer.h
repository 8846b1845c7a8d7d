#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole::schema {

/// Iterates over JSON text, value by value, without parsing their content: only the nesting is examined. Results are parts of the text,
/// which must outlive them. Errors: BadRequest.
class JsonSlicer {
public:
    explicit JsonSlicer(std::string_view text) : text_(text) {}

    /// Passes the character, and blanks before it. False if another one follows.
    bool take(char c) {
        skip_space();
        if (at_end() || text_[position_] != c) return false;
        ++position_;
        return true;
    }
    bool at_end() const { return position_ >= text_.size(); }
    bool is_at(std::string_view word) {
        skip_space();
        return rest().starts_with(word);
    }
    /// The text that has not been passed yet.
    std::string_view rest() const { return text_.substr(std::min(position_, text_.size())); }

    /// Passes any value; a string has its quotes.
    Result<std::string_view> value();
    /// Passes a list, and yields its elements.
    Result<std::vector<std::string_view>> elements();
    /// Passes a list. Calls `visit()`, which yields a Result<void>, where each element begins; it has to pass the element.
    template <class Visit>
    Result<void> each(Visit visit) {
        if (!take('[')) return malformed("an array is expected");
        if (take(']')) return {};
        do {
            TRY_VOID(visit());
        } while (take(','));
        if (!take(']')) return malformed("unterminated array");
        return {};
    }
    /// Passes an object. Calls `visit(key)`, which yields a Result<void>, where each member's value begins; it has to pass the value. The
    /// key has its quotes.
    template <class Visit>
    Result<void> members(Visit visit) {
        if (!take('{')) return malformed("an object is expected");
        if (take('}')) return {};
        do {
            TRY(const std::string_view key, value());
            if (!take(':')) return malformed("a colon is missing");
            TRY_VOID(visit(key));
        } while (take(','));
        if (!take('}')) return malformed("unterminated object");
        return {};
    }
    /// The value of an object's member, or "" if there is none. The key has no escapes. The text after the value is not passed.
    Result<std::string_view> member(std::string_view key);

private:
    static Error malformed(const char* what);
    void skip_space() {
        while (!at_end() && is_space(text_[position_])) ++position_;
    }
    static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
    bool skip_string();  ///< false if it does not end
    Result<void> skip_nested();

    std::string_view text_;
    std::size_t position_ = 0;
};

}  // namespace porthole::schema
