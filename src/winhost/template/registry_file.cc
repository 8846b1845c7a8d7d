#include "winhost/template/registry_file.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include "base/strings.h"

namespace porthole::winhost {
namespace {

std::string escaped(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        if (letter == '\\' || letter == '"') result.push_back('\\');
        result.push_back(letter);
    }
    return result;
}

/// How a line that sets `name` begins.
std::string prefix_of(std::string_view name) { return name.empty() ? "@=" : "\"" + escaped(name) + "\"="; }

bool sets(const std::string& line, std::string_view prefix) {
    return line.size() >= prefix.size() && equal_ignoring_case(std::string_view(line).substr(0, prefix.size()), prefix);
}

/// `path` without `above` and the separator, or nothing if it is not below.
std::optional<std::string_view> below(std::string_view path, const std::string& above) {
    if (path.size() <= above.size() + 2 || !equal_ignoring_case(path.substr(0, above.size()), above)) return std::nullopt;
    path.remove_prefix(above.size());
    if (!path.starts_with("\\\\")) return std::nullopt;
    return path.substr(2);
}

constexpr std::string_view LinkValue = "\"SymbolicLinkValue\"=hex(6):", Machine = "\\Registry\\Machine\\";

/// What a link's value says, `5c,00,52,00` and so on over several lines: UTF-16, of which keys of Wine use ASCII alone.
std::string decoded(std::string_view bytes) {
    std::string text;
    for (bool low = true; !bytes.empty();) {
        std::uint8_t byte = 0;
        const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), byte, 16);
        if (error == std::errc()) {
            if (low) text.push_back(static_cast<char>(byte));
            low = !low;
        }
        bytes.remove_prefix(error == std::errc() ? end - bytes.data() : 1);
    }
    return text;
}

/// The key of the same file that a key with these lines is a link to, escaped; "" for other keys.
std::string target_of(const std::vector<std::string>& lines) {
    if (std::find(lines.begin(), lines.end(), "#link") == lines.end()) return "";
    for (const std::string& line : lines) {
        if (!sets(line, LinkValue)) continue;
        const std::string path = decoded(std::string_view(line).substr(LinkValue.size()));
        const bool fits_a_line = std::ranges::none_of(path, [](unsigned char c) { return c < ' '; });
        if (fits_a_line && sets(path, Machine)) return escaped(path.substr(Machine.size()));
    }
    return "";
}

}  // namespace

Result<RegistryFile> RegistryFile::parse(std::string_view text) {
    if (!text.starts_with("WINE REGISTRY Version 2")) return Error(Reason::Invalid, "not a registry file of Wine");
    RegistryFile file;
    bool continued = false;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string line(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (continued) {
            file.keys_.back().lines.back() += "\n" + line;
        } else if (line.starts_with('[')) {
            const std::size_t close = line.rfind(']');
            if (close == line.npos) return Error(Reason::Invalid, "a registry file has a broken key: " + line);
            file.keys_.push_back({line.substr(1, close - 1), line, {}});
            continue;  // only values go on in the next line
        } else if (file.keys_.empty()) {
            file.preamble_ += line + "\n";
            continue;
        } else if (!line.empty()) {
            file.keys_.back().lines.push_back(line);
        }
        continued = line.ends_with('\\');
    }
    if (continued) return Error(Reason::Invalid, "a registry file ends within a value");
    for (const Key& key : file.keys_)
        if (std::string target = target_of(key.lines); !target.empty()) file.links_.push_back({key.path, std::move(target)});
    return file;
}

std::string RegistryFile::text() const {
    std::string text = preamble_;
    for (const Key& key : keys_) {
        text += key.head + "\n";
        for (const std::string& line : key.lines) text += line + "\n";
        text += "\n";
    }
    return text;
}

std::string RegistryFile::resolved(std::string path) const {
    constexpr int Rounds = 8;  // links may point to each other
    for (int round = 0; round < Rounds; ++round) {
        const auto link = std::find_if(links_.begin(), links_.end(), [&](const Link& one) { return below(path, one.path); });
        if (link == links_.end()) break;
        path = link->target + "\\\\" + std::string(*below(path, link->path));
    }
    return path;
}

RegistryFile::Key* RegistryFile::find(std::string_view key) {
    const std::string path = resolved(escaped(key));
    const auto found =
        std::find_if(keys_.begin(), keys_.end(), [&](const Key& candidate) { return equal_ignoring_case(candidate.path, path); });
    return found == keys_.end() ? nullptr : &*found;
}
const RegistryFile::Key* RegistryFile::find(std::string_view key) const { return const_cast<RegistryFile*>(this)->find(key); }

std::string RegistryFile::value(std::string_view key, std::string_view name) const {
    const Key* found = find(key);
    const std::string prefix = prefix_of(name);
    if (found) {
        for (const std::string& line : found->lines)
            if (sets(line, prefix)) return line.substr(prefix.size());
    }
    return "";
}

void RegistryFile::set(std::string_view key, std::string_view name, std::string_view value) {
    Key* found = find(key);
    if (!found) {
        const std::string path = resolved(escaped(key));
        found = &keys_.emplace_back(Key{path, "[" + path + "] 1", {}});
    }
    const std::string prefix = prefix_of(name);
    const std::string line = prefix + std::string(value);
    for (std::string& old : found->lines) {
        if (!sets(old, prefix)) continue;
        old = line;
        return;
    }
    found->lines.push_back(line);
}

void RegistryFile::remove_value(std::string_view key, std::string_view name) {
    if (Key* found = find(key))
        std::erase_if(found->lines, [prefix = prefix_of(name)](const std::string& line) { return sets(line, prefix); });
}

void RegistryFile::remove_tree(std::string_view key) {
    const std::string path = resolved(escaped(key));
    const auto is_removed = [&](const auto& one) { return equal_ignoring_case(one.path, path) || below(one.path, path); };
    std::erase_if(keys_, is_removed);
    std::erase_if(links_, is_removed);
}

std::string RegistryFile::quoted(std::string_view text) { return "\"" + escaped(text) + "\""; }

std::string RegistryFile::number(std::uint32_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "dword:%08x", value);
    return text;
}

}  // namespace porthole::winhost
