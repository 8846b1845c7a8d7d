#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace porthole::cel {

/// Finds one text within others, in time linear in both (Knuth, Morris and Pratt, 1977), whatever they contain: the searches of the
/// standard library take the product. Borrows `wanted`, which must not be empty.
template <class Char>
class TextSearch {
public:
    explicit TextSearch(std::span<const Char> wanted) : wanted_(wanted), border_(wanted.size(), 0) {
        for (std::size_t i = 1, matched = 0; i < wanted.size(); ++i) border_[i] = matched = advance(matched, wanted[i]);
    }

    /// The start of the first occurrence that begins at `from` or later.
    std::optional<std::size_t> first(std::span<const Char> text, std::size_t from) const {
        std::size_t matched = 0;
        for (std::size_t i = from; i < text.size(); ++i) {
            if (matched == 0) {
                i = static_cast<std::size_t>(std::find(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(), wanted_[0]) -
                                             text.begin());
                if (i == text.size()) break;
            }
            matched = advance(matched, text[i]);
            if (matched == wanted_.size()) return i + 1 - matched;
        }
        return std::nullopt;
    }

    /// The start of the last occurrence in the text.
    std::optional<std::size_t> last(std::span<const Char> text) const {
        std::optional<std::size_t> found;
        std::size_t matched = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (matched == wanted_.size()) matched = border_[matched - 1];
            matched = advance(matched, text[i]);
            if (matched == wanted_.size()) found = i + 1 - matched;
        }
        return found;
    }

private:
    /// How much of `wanted_` a text ends with, that ended with `matched` of it, less than all, before `next` came.
    std::size_t advance(std::size_t matched, Char next) const {
        while (matched > 0 && wanted_[matched] != next) matched = border_[matched - 1];
        return wanted_[matched] == next ? matched + 1 : 0;
    }

    std::span<const Char> wanted_;
    std::vector<std::size_t> border_;  // of each beginning of it, how long a shorter beginning it ends with
};

}  // namespace porthole::cel
