#include "schema/version_order.h"

#include <charconv>
#include <optional>
#include <tuple>

namespace porthole::schema {
namespace {

struct Rank {
    int stage = 0;  ///< 2 stable, 1 beta, 0 alpha
    unsigned major = 0, minor = 0;
    auto operator<=>(const Rank&) const = default;
};

/// A number without leading zeros, taken from the front.
std::optional<unsigned> take_number(std::string_view& text) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number == 0 || text.front() == '0') return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// Of v1, v1beta1 and v1alpha1; nullopt for other names.
std::optional<Rank> rank_of(std::string_view version) {
    if (!version.starts_with('v')) return std::nullopt;
    version.remove_prefix(1);
    const auto major = take_number(version);
    if (!major) return std::nullopt;
    if (version.empty()) return Rank{2, *major, 0};
    for (const auto& [word, stage] : {std::pair<std::string_view, int>{"beta", 1}, {"alpha", 0}}) {
        if (!version.starts_with(word)) continue;
        version.remove_prefix(word.size());
        const auto minor = take_number(version);
        if (minor && version.empty()) return Rank{stage, *major, *minor};
    }
    return std::nullopt;
}

}  // namespace

bool is_preferred_version(std::string_view left, std::string_view right) {
    const auto left_rank = rank_of(left), right_rank = rank_of(right);
    if (left_rank && right_rank) return *left_rank > *right_rank;
    if (left_rank || right_rank) return left_rank.has_value();
    return left < right;
}

}  // namespace porthole::schema
