#include "cel/syntax/issues.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/strings.h"

namespace porthole::cel {
namespace {

constexpr std::size_t MostReported = 100, LongestSnippet = 16384, LongestText = std::size_t{64} << 10;

std::size_t length_of(char lead) {
    const auto byte = static_cast<unsigned char>(lead);
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The line, and below it a caret; wide characters get wide signs, so that the caret is below its column.
std::string snippet(std::string_view line, std::size_t column) {
    std::string marks;
    for (std::size_t i = 0; i < column && !line.empty(); ++i) {
        const std::size_t length = std::min(length_of(line.front()), line.size());
        marks += length > 1 ? "．" : ".";
        line.remove_prefix(length);
    }
    return marks + (!line.empty() && length_of(line.front()) > 1 ? "＾" : "^");
}

}  // namespace

void Issues::add(Location location, std::string message) {
    if (++count_ <= MostReported) issues_.push_back({location, std::move(message)});
}

std::string Issues::to_string() const {
    std::vector<std::size_t> order(issues_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [this](std::size_t index) { return std::pair(issues_[index].location, index); });
    const std::vector<std::string_view> lines = split_views(source_, '\n');
    std::string text;
    std::size_t shown = 0;
    for (const std::size_t index : order) {
        const Issue& issue = issues_[index];
        // Differs from Kubernetes, where each issue of a long line repeats it.
        if (text.size() > LongestText) break;
        ++shown;
        if (!text.empty()) text += '\n';
        if (issue.location.line == 0) {
            text += "ERROR: <input>:-1:0: " + issue.message;
            continue;
        }
        text += fmt::format("ERROR: <input>:{}:{}: {}", issue.location.line, issue.location.column + 1, issue.message);
        if (issue.location.line > lines.size()) continue;
        std::string line(lines[issue.location.line - 1]);
        if (line.size() > LongestSnippet) continue;
        std::ranges::replace(line, '\t', ' ');
        text += "\n | " + line + "\n | " + snippet(line, issue.location.column);
    }
    if (count_ > shown) text += fmt::format("\n{} more errors were truncated", count_ - shown);
    return text;
}

}  // namespace porthole::cel
