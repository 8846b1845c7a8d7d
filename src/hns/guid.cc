#include "hns/guid.h"

#include <cctype>

#include "base/strings.h"

namespace porthole::hns {

std::string canonical_guid(std::string_view text) {
    if (text.size() == 38 && text.front() == '{' && text.back() == '}') text = text.substr(1, 36);
    if (text.size() != 36) return "";
    std::string guid;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !std::isxdigit(static_cast<unsigned char>(text[i]))) return "";
        guid += to_upper(text[i]);
    }
    return guid;
}

bool is_guid(std::string_view text) { return !canonical_guid(text).empty(); }

bool same_guid(std::string_view left, std::string_view right) {
    const std::string canonical = canonical_guid(left);
    return !canonical.empty() && canonical == canonical_guid(right);
}

std::string make_guid(Random& random) { return canonical_guid(random.uuid()); }

}  // namespace porthole::hns
