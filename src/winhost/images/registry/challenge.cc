#include "winhost/images/registry/challenge.h"

#include "base/strings.h"

namespace porthole::winhost {
namespace {

void skip(std::string_view& text, std::string_view characters) {
    text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

/// Up to one of `ends`.
std::string_view take_until(std::string_view& text, std::string_view ends) {
    const std::string_view token = text.substr(0, text.find_first_of(ends));
    text.remove_prefix(token.size());
    return token;
}

/// A token, or what stands between quotes.
std::string take_value(std::string_view& text) {
    if (!text.starts_with('"')) return std::string(take_until(text, ", "));
    std::string value;
    for (text.remove_prefix(1); !text.empty() && text.front() != '"'; text.remove_prefix(1)) {
        if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
        value += text.front();
    }
    if (!text.empty()) text.remove_prefix(1);
    return value;
}

}  // namespace

Challenge parse_challenge(std::string_view text) {
    Challenge challenge;
    skip(text, " ");
    challenge.scheme = to_lower(take_until(text, " "));
    for (;;) {
        skip(text, " ,");
        const std::string name = to_lower(take_until(text, "=, "));
        skip(text, " ");
        if (name.empty() && !text.starts_with('=')) return challenge;
        if (!text.starts_with('=')) continue;
        text.remove_prefix(1);
        skip(text, " ");
        challenge.parameters[name] = take_value(text);
    }
}

}  // namespace porthole::winhost
