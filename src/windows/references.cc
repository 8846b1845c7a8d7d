#include "windows/references.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::windows {

std::string anchor_of(const Rule& rule) { return "docs/guide/windows_support.md#" + to_lower(rule.code); }

std::string reference_to(const std::vector<const Rule*>& rules) {
    std::string text;
    std::vector<const Rule*> named;
    for (const Rule* rule : rules) {
        if (std::ranges::find(named, rule) != named.end()) continue;
        named.push_back(rule);
        text += text.empty() ? " (see " + anchor_of(*rule) : ", #" + to_lower(rule->code);
    }
    return text.empty() ? "" : text + ")";
}

}  // namespace porthole::windows
