#include "kubelet/container/expansion.h"

namespace porthole::kubelet {

std::string expand(std::string_view text, const Lookup& lookup) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '$' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const char next = text[++i];
        if (next == '$') {
            out += '$';
        } else if (next != '(') {
            (out += '$') += next;
        } else if (const std::size_t end = text.find(')', i); end == std::string_view::npos) {
            out += "$(";
        } else {
            const std::string_view name = text.substr(i + 1, end - i - 1);
            const std::optional<std::string> value = lookup(name);
            out += value ? *value : "$(" + std::string(name) + ")";
            i = end;
        }
    }
    return out;
}

}  // namespace porthole::kubelet
