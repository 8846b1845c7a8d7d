#include "base/closest_word.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace porthole {
namespace {

/// How many letters must be put in, taken out or changed.
std::size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0u);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j)
            diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])}));
    }
    return row.back();
}

}  // namespace

std::string closest_word(const std::string& word, const std::vector<std::string>& known) {
    std::string best;
    // Of a word of two letters, both could differ.
    std::size_t least = std::min(std::max<std::size_t>(2, word.size() / 3) + 1, std::max<std::size_t>(word.size(), 1));
    for (const std::string& candidate : known) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance >= least) continue;
        least = distance;
        best = candidate;
    }
    return best;
}

}  // namespace porthole
