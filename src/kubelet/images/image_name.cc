#include "kubelet/images/image_name.h"

#include <algorithm>
#include <cctype>

namespace porthole::kubelet {
namespace {

bool is_lower_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_tag_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-'; }

/// A path component: alphanumerics, with single separators (".", "_", "__" or dashes) between them.
bool is_component(std::string_view text) {
    return !text.empty() && is_lower_alnum(text.front()) && is_lower_alnum(text.back()) &&
           std::all_of(text.begin(), text.end(), [](char c) { return is_lower_alnum(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_host(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == ':' || c == '[' || c == ']' || c == '_';
    });
}

bool looks_like_host(std::string_view first) {
    return first == "localhost" || first.find_first_of(".:") != std::string_view::npos ||
           std::any_of(first.begin(), first.end(), [](unsigned char c) { return std::isupper(c); });
}

Error invalid(const std::string& text) {
    const bool has_upper = std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isupper(c); });
    return Error(Reason::BadRequest, "couldn't parse image name \"" + text + "\": invalid reference format" +
                                         (has_upper ? ": repository name must be lowercase" : ""));
}

bool is_valid_digest(std::string_view digest) {
    const std::size_t colon = digest.find(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    const std::string_view hex = digest.substr(colon + 1);
    return hex.size() >= 32 && std::all_of(hex.begin(), hex.end(), [](unsigned char c) { return std::isxdigit(c); });
}

}  // namespace

std::string ImageName::registry() const {
    const std::size_t slash = repository.find('/');
    const std::string first = repository.substr(0, slash);
    return slash != std::string::npos && looks_like_host(first) ? first : "docker.io";
}

std::string ImageName::full() const {
    std::string text = repository;
    if (!tag.empty()) text += ":" + tag;
    if (!digest.empty()) text += "@" + digest;
    if (tag.empty() && digest.empty()) text += ":latest";
    return text;
}

std::string ImageName::canonical() const {
    std::string text = repository;
    if (!text.starts_with(registry() + "/")) text = registry() + (text.contains('/') ? "/" : "/library/") + text;
    return text + (digest.empty() ? ":" + (tag.empty() ? "latest" : tag) : "@" + digest);
}

Result<ImageName> parse_image_name(const std::string& text) {
    ImageName name;
    std::string rest = text;
    if (const std::size_t at = rest.find('@'); at != std::string::npos) {
        name.digest = rest.substr(at + 1);
        rest.resize(at);
        if (!is_valid_digest(name.digest)) return invalid(text);
    }
    if (const std::size_t colon = rest.rfind(':'); colon != std::string::npos && rest.find('/', colon) == std::string::npos) {
        name.tag = rest.substr(colon + 1);
        rest.resize(colon);
        if (name.tag.empty() || name.tag.size() > 128 || !std::all_of(name.tag.begin(), name.tag.end(), is_tag_character))
            return invalid(text);
    }
    name.repository = rest;
    std::string_view path = rest;
    if (const std::size_t slash = path.find('/'); slash != std::string_view::npos && looks_like_host(path.substr(0, slash))) {
        if (!is_host(path.substr(0, slash))) return invalid(text);
        path.remove_prefix(slash + 1);
    }
    do {
        const std::size_t slash = std::min(path.find('/'), path.size());
        if (!is_component(path.substr(0, slash))) return invalid(text);
        if (slash + 1 == path.size()) return invalid(text);
        path.remove_prefix(std::min(slash + 1, path.size()));
    } while (!path.empty());
    return name;
}

}  // namespace porthole::kubelet
